//! What the machine says: memory in use, time a thread has run.

use std::time::Duration;

/// Resident memory of this process, in bytes.
pub fn rss() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages: u64 = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse().ok())
        .unwrap_or(0);
    pages * 4_096
}

/// Processor time of this thread: what another program takes in between does not count.
pub fn thread_time() -> Duration {
    let mut time = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `time` is valid for writing.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// The slowest of some steps, in time on the wall and on the processor.
#[derive(Default)]
pub struct Slowest {
    pub wall: Duration,
    pub cpu: Duration,
}

impl Slowest {
    /// Runs a step and notes how long it took.
    #[inline]
    pub fn of<T>(&mut self, step: impl FnOnce() -> T) -> T {
        let (wall, cpu) = (std::time::Instant::now(), thread_time());
        let value = step();
        self.cpu = self.cpu.max(thread_time() - cpu);
        self.wall = self.wall.max(wall.elapsed());
        value
    }
}

pub fn ms(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 1e6).round() / 1e3
}
