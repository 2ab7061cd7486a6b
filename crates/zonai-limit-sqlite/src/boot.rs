//! Which boot the stored windows belong to, and what becomes of them after another one.
//!
//! Within one boot a window is stored as `moment + offset` with one offset that never changes, so that it is exact
//! whatever the wall clock does. Must never read the wall clock for anything but a new offset.

use rusqlite::{Connection, OptionalExtension, params};
use zonai_clock::Clock;
use zonai_limit::Moment;

/// The wall time, in ms since the epoch, that the file gives to the moment 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Epoch(pub(crate) i64);

impl Epoch {
    /// The stored form of a moment.
    pub(crate) fn store(self, moment: Moment) -> i64 {
        millis(moment).saturating_add(self.0)
    }

    /// The moment of a stored time; times before the clock's beginning are its beginning.
    pub(crate) fn load(self, stored: i64) -> Moment {
        Moment::from_millis(u64::try_from(stored.saturating_sub(self.0)).unwrap_or(0))
    }
}

/// The one row of `_rate_limit_boot`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BootRow {
    pub(crate) boot_id: String,
    /// The [`Epoch`] of every `window_start` in the file.
    pub(crate) epoch_offset: i64,
    /// What the offset would be by the wall clock as it was when the file was last written.
    pub(crate) wall_offset: i64,
    /// When the file was last written, in terms of `window_start`: what was closed by then is closed for ever.
    pub(crate) seen: i64,
}

impl BootRow {
    pub(crate) fn read(conn: &Connection) -> rusqlite::Result<Option<Self>> {
        conn.query_row(
            "SELECT boot_id, epoch_offset, wall_offset, seen FROM _rate_limit_boot",
            [],
            |row| {
                Ok(Self {
                    boot_id: row.get(0)?,
                    epoch_offset: row.get(1)?,
                    wall_offset: row.get(2)?,
                    seen: row.get(3)?,
                })
            },
        )
        .optional()
    }

    pub(crate) fn write(&self, conn: &Connection) -> rusqlite::Result<()> {
        conn.prepare_cached(
            "INSERT INTO _rate_limit_boot (one, boot_id, epoch_offset, wall_offset, seen) VALUES (1, ?1, ?2, ?3, ?4)
             ON CONFLICT (one) DO UPDATE SET boot_id = ?1, epoch_offset = ?2, wall_offset = ?3, seen = ?4",
        )?
        .execute(params![self.boot_id, self.epoch_offset, self.wall_offset, self.seen])?;
        Ok(())
    }

    /// The row as of now.
    pub(crate) fn now(clock: &Clock, epoch: Epoch) -> Self {
        let now = clock.now();
        Self {
            boot_id: clock.boot_id().to_owned(),
            epoch_offset: epoch.0,
            wall_offset: wall_offset(clock, now),
            seen: epoch.store(now),
        }
    }
}

/// How stored windows are read in this boot.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rebase {
    /// The epoch of this boot.
    pub(crate) epoch: Epoch,
    /// Whether the rows were written under another epoch, and have to be brought under this one.
    pub(crate) moved: bool,
    shift: i64,
    now: i64,
    /// In the old terms: what was closed by then is closed whatever the clocks say now.
    closed_by: i64,
}

impl Rebase {
    /// How to read a file with this boot row; `running` is the epoch that is in use already.
    pub(crate) fn plan(row: Option<&BootRow>, running: Option<Epoch>, clock: &Clock) -> Self {
        let moment = clock.now();
        let same_boot = row.filter(|row| row.boot_id == clock.boot_id());
        let epoch = running
            .or(same_boot.map(|row| Epoch(row.epoch_offset)))
            .unwrap_or_else(|| Epoch(wall_offset(clock, moment)));
        let now = epoch.store(moment);
        let (shift, moved, closed_by) = match (same_boot, row) {
            (Some(row), _) => {
                let shift = epoch.0.saturating_sub(row.epoch_offset);
                (shift, shift != 0, i64::MIN)
            }
            (None, Some(row)) => (
                row.wall_offset.saturating_sub(row.epoch_offset),
                true,
                row.seen,
            ),
            (None, None) => (0, true, i64::MIN),
        };
        Self {
            epoch,
            moved,
            shift,
            now,
            closed_by,
        }
    }

    /// Now, as it would be stored.
    pub(crate) fn now(&self) -> i64 {
        self.now
    }

    /// A stored start under the epoch of this boot, inside [now - window, now]; `None` for a window that had closed
    /// when the file was last written.
    pub(crate) fn start(&self, stored: i64, window_ms: u64) -> Option<i64> {
        let window = i64::try_from(window_ms).unwrap_or(i64::MAX);
        if self.moved && stored.saturating_add(window) <= self.closed_by {
            return None;
        }
        let start = stored.saturating_add(self.shift).min(self.now);
        Some(if self.moved {
            start.max(self.now.saturating_sub(window))
        } else {
            start
        })
    }

    /// Brings every row under the epoch of this boot: the same as [`Self::start`], on the file.
    pub(crate) fn apply(&self, conn: &Connection) -> rusqlite::Result<()> {
        if !self.moved {
            return Ok(());
        }
        conn.execute(
            "DELETE FROM _rate_limit WHERE window_start + window_ms <= ?1",
            [self.closed_by],
        )?;
        conn.execute(
            "UPDATE _rate_limit SET window_start = max(min(window_start + ?1, ?2), ?2 - window_ms)
             WHERE window_start <> max(min(window_start + ?1, ?2), ?2 - window_ms)",
            [self.shift, self.now],
        )?;
        Ok(())
    }
}

pub(crate) fn wall_offset(clock: &Clock, now: Moment) -> i64 {
    clock.steady_wall_ms(now).saturating_sub(millis(now))
}

fn millis(moment: Moment) -> i64 {
    i64::try_from(moment.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use zonai_clock::Hand;

    #[test]
    fn within_one_boot_a_window_is_exact_whatever_the_wall_does() {
        let (clock, hand) = Clock::manual();
        let first = Rebase::plan(None, None, &clock);
        let start = first.epoch.store(clock.now());
        let row = BootRow::now(&clock, first.epoch);
        let opened = clock.now();
        hand.advance_ms(5_000);
        for wall in [0, Hand::WALL_MS + 86_400_000] {
            hand.set_wall_ms(wall);
            let again = Rebase::plan(Some(&row), None, &clock);
            assert_eq!(
                again
                    .start(start, 60_000)
                    .map(|start| again.epoch.load(start)),
                Some(opened)
            );
        }
    }

    #[test]
    fn after_a_reboot_a_start_lies_within_the_window_before_now() {
        let (clock, hand) = Clock::manual();
        let row = BootRow::now(&clock, Rebase::plan(None, None, &clock).epoch);
        hand.reboot();
        let rebase = Rebase::plan(Some(&row), None, &clock);
        let now = Hand::WALL_MS;
        assert_eq!(rebase.start(now - 10_000, 60_000), Some(now - 10_000));
        assert_eq!(rebase.start(now + 10_000, 60_000), Some(now));
        assert_eq!(
            rebase.start(now - 60_001, 60_000),
            None,
            "closed when the file was last written"
        );
        hand.set_wall_ms(now + 3_600_000);
        let later = Rebase::plan(Some(&row), None, &clock);
        assert_eq!(later.start(now - 10_000, 60_000), Some(now + 3_540_000));
    }

    #[test]
    fn a_step_of_the_wall_before_the_reboot_is_carried_along() {
        let (clock, hand) = Clock::manual();
        let first = Rebase::plan(None, None, &clock);
        let start = first.epoch.store(clock.now());
        hand.set_wall_ms(Hand::WALL_MS + 7_200_000);
        let row = BootRow::now(&clock, first.epoch);
        hand.reboot();
        let rebase = Rebase::plan(Some(&row), None, &clock);
        assert_eq!(rebase.start(start, 60_000), Some(Hand::WALL_MS + 7_200_000));
    }
}
