//! A decision allocates nothing (promise 9.1). Counted per thread, so that other tests do not disturb it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use zonai_limit::{Ask, Counters, Operation, Verdict};

use crate::common::{START, admits, bucket, charge, limiter, v4};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

#[expect(
    unsafe_code,
    reason = "a global allocator is unsafe to write; this one only counts, and only in tests"
)]
// SAFETY: every call is passed on to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|count| count.set(count.get() + 1));
        // SAFETY: as of the caller.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as of the caller.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn allocations(run: impl FnOnce()) -> u64 {
    let before = ALLOCATIONS.with(Cell::get);
    run();
    ALLOCATIONS.with(Cell::get) - before
}

#[test]
fn s9_1_a_decision_allocates_nothing() {
    let counters = Counters::new(1_000);
    let charges = [charge(0, 50, 60_000), charge(1, 50, 60_000)];
    assert!(admits(counters.decide(START, v4(1), &charges, false)));
    let allocated = allocations(|| {
        for _ in 0..100 {
            let _ = counters.decide(START, v4(1), &charges, false);
            let _ = counters.decide(START, v4(1), &charges[..1], false);
        }
    });
    assert_eq!(allocated, 0);
}

#[test]
fn s9_1_neither_does_a_check_admitted_or_refused() {
    let limiter = limiter(Vec::new());
    let one = [Operation::Get];
    let two = [Operation::SignIn, Operation::Authenticate];
    let asks = [
        Ask::new(bucket(&limiter, "items"), &one),
        Ask::new(bucket(&limiter, "users"), &two),
    ];
    for ask in &asks {
        assert!(matches!(
            limiter.check_now(START, v4(1), ask),
            Some(Verdict::Admitted(_))
        ));
        let mut refused = 0;
        let allocated = allocations(|| {
            for _ in 0..200 {
                let verdict = limiter.check_now(START, v4(1), ask);
                refused += u32::from(matches!(verdict, Some(Verdict::Refused(_))));
            }
        });
        assert_eq!((allocated, refused), (0, 101));
    }
}
