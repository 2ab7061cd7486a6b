//! The model against a limiter of a few lines: it allows all that a right one does, and finds the faults that are planted.
//!
//! The same faults in the real program are `tests/planted`; they take minutes to build, and are run by hand. Must never
//! call the real limiter: what is tested here is the model.

use super::counter::{Counter, Policy, Seen, Span};
use super::dice::Dice;

/// What is wrong with a limiter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    Nothing,
    /// One request in 10,000 is admitted although the counter is full.
    AdmissionTooMany,
    /// One count in 10,000 is lost.
    LostCount,
    /// One change of a policy in three is not followed.
    StalePolicy,
    /// A kill loses a count of a durable operation.
    LostByKill,
    /// A refusal moves the window.
    MovedWindow,
}

struct Limiter {
    fault: Fault,
    dice: Dice,
    policy: Option<Policy>,
    window: Option<(u64, u32)>,
}

impl Limiter {
    fn errs(&mut self, fault: Fault, one_in: u64) -> bool {
        self.fault == fault && self.dice.below(one_in) == 0
    }

    fn decide(&mut self, now: u64) -> Option<Seen> {
        let policy = self.policy?;
        let open = self.window.filter(|(start, _)| now < start + policy.window);
        let (start, count) = open.unwrap_or((now, 0));
        if count >= policy.limit && !self.errs(Fault::AdmissionTooMany, 10_000) {
            let left = start + policy.window - now;
            let moved = self.errs(Fault::MovedWindow, 100);
            self.window = Some((if moved { now } else { start }, count));
            let retry_after = left.div_ceil(1_000);
            return Some(Seen::Refused {
                limit: policy.limit,
                retry_after,
            });
        }
        let more = u32::from(!self.errs(Fault::LostCount, 10_000));
        self.window = Some((start, count + more));
        Some(Seen::Admitted)
    }

    fn change(&mut self, now: u64, new: Option<Policy>) {
        if self.errs(Fault::StalePolicy, 3) {
            return;
        }
        let old = self.policy.zip(new).map(|(old, _)| old);
        self.window = self
            .window
            .filter(|(start, _)| old.is_some_and(|old| now < start + old.window));
        self.policy = new;
    }

    fn killed(&mut self) {
        if self.fault == Fault::LostByKill {
            self.window = self
                .window
                .map(|(start, count)| (start, count.saturating_sub(1)));
        }
    }
}

fn thrown(dice: &mut Dice) -> Option<Policy> {
    (!dice.percent(10)).then(|| Policy {
        limit: u32::try_from(dice.below(300)).unwrap(),
        window: [900, 5_000, 3_600_000][dice.index(3)] + dice.below(100),
    })
}

/// A limiter and what a client knows of it.
struct Pair {
    dice: Dice,
    now: u64,
    limiter: Limiter,
    model: Counter,
    /// What the client was told is in force.
    policy: Option<Policy>,
}

impl Pair {
    fn new(fault: Fault, seed: u64) -> Self {
        let limiter = Limiter {
            fault,
            dice: Dice::new(!seed),
            policy: None,
            window: None,
        };
        Self {
            dice: Dice::new(seed),
            now: 1_000_000,
            limiter,
            model: Counter::default(),
            policy: None,
        }
    }

    fn step(&mut self) -> Result<(), String> {
        let at = Span {
            from: self.now - self.dice.below(20),
            to: self.now + self.dice.below(20),
        };
        let told = match self.dice.below(1_000) {
            0 => self.another_client(),
            1..3 => self.change(at),
            3 => self.kill(at),
            _ => self.request(at),
        };
        self.now += if self.dice.percent(1) {
            self.dice.below(2_000)
        } else {
            self.dice.below(3)
        };
        told
    }

    fn another_client(&mut self) -> Result<(), String> {
        (self.model, self.policy) = (Counter::default(), thrown(&mut self.dice));
        (self.limiter.window, self.limiter.policy) = (None, self.policy);
        Ok(())
    }

    fn change(&mut self, at: Span) -> Result<(), String> {
        let new = thrown(&mut self.dice);
        self.model.change(at, self.policy, new);
        self.limiter.change(self.now, new);
        self.policy = new;
        Ok(())
    }

    /// The answer to the last request does not come.
    fn kill(&mut self, at: Span) -> Result<(), String> {
        if let Some(policy) = self.policy {
            self.model.lose_sight(at, policy, 1);
            if self.dice.percent(50) {
                let _ = self.limiter.decide(self.now);
            }
        }
        self.model.killed(true);
        self.limiter.killed();
        Ok(())
    }

    fn request(&mut self, at: Span) -> Result<(), String> {
        match (self.policy, self.limiter.decide(self.now)) {
            (Some(policy), seen) => self.model.see(at, policy, seen.unwrap_or(Seen::Admitted)),
            (None, None | Some(Seen::Admitted)) => Ok(()),
            (None, Some(refused)) => Err(format!("{refused:?} without a limit")),
        }
    }
}

/// How many requests it took until the model objected, and to what.
fn found(fault: Fault, seed: u64, requests: u64) -> Option<(u64, String)> {
    let mut pair = Pair::new(fault, seed);
    (0..requests).find_map(|request| Some((request, pair.step().err()?)))
}

#[test]
fn the_model_allows_all_that_a_right_limiter_does() {
    for seed in 0..40 {
        assert_eq!(found(Fault::Nothing, seed, 20_000), None, "seed {seed}");
    }
}

/// As many requests as the run asks in a third of its time.
#[test]
fn the_model_finds_what_is_planted() {
    for fault in [
        Fault::AdmissionTooMany,
        Fault::LostCount,
        Fault::StalePolicy,
        Fault::LostByKill,
        Fault::MovedWindow,
    ] {
        let took: Vec<u64> = (0..5)
            .map(|seed| found(fault, seed, 200_000).expect("is found").0)
            .collect();
        println!("{fault:?}: found after {took:?} requests");
    }
}

/// A patch that does not apply any more proves nothing.
#[test]
fn the_planted_faults_of_the_program_still_apply() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for entry in std::fs::read_dir(root.join("crates/zonai/tests/planted")).unwrap() {
        let patch = entry.unwrap().path();
        if patch
            .extension()
            .is_some_and(|extension| extension == "patch")
        {
            let tried = std::process::Command::new("git")
                .arg("apply")
                .arg("--check")
                .arg(&patch)
                .current_dir(&root)
                .output();
            let output = tried.expect("git");
            let why = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.success(),
                "{} has to be made anew: {why}",
                patch.display()
            );
        }
    }
}
