//! One client address: its counters as the model has them, its connections, and the verdict on each answer.
//!
//! Must never let an answer pass that the model does not allow.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};

use super::counter::{Counter, Policy, Seen, Span};
use super::limits::{Key, Limits};
use super::wire::{Outcome, Reply, Time, Wire};

/// What is so for all clients in one round.
pub(super) struct Round<'a> {
    pub(super) number: u64,
    pub(super) limits: &'a Limits,
    pub(super) time: Time,
    /// The server, and where there is one the proxy in front of it.
    pub(super) doors: Vec<SocketAddr>,
    pub(super) answers: &'a AtomicU64,
    /// The server or the proxy is killed within it.
    pub(super) may_be_lost: bool,
    pub(super) disk_is_full: bool,
    /// All clients do nothing but what is committed before its answer.
    pub(super) only_commits: bool,
    /// The table whose limits became others before it.
    pub(super) changed: Option<&'static str>,
}

/// What is counted for a request.
#[derive(Clone, Default)]
pub(super) struct Counted {
    pub(super) keys: Vec<Key>,
    /// Beside them, a failed sign-in of this account.
    pub(super) failing: Option<Key>,
}

impl Counted {
    pub(super) fn on(keys: &[Key]) -> Self {
        Self {
            keys: keys.to_vec(),
            failing: None,
        }
    }
}

/// What a client learns.
pub(super) enum Answer {
    Lost,
    Refused,
    /// Passed the limiter, and this is what came of it.
    Passed(Reply),
}

/// An address, and all that the server knows of it.
pub(super) struct Address {
    ip: Ipv4Addr,
    counters: BTreeMap<Key, Counter>,
    wires: BTreeMap<SocketAddr, Wire>,
}

impl Address {
    pub(super) fn new(ip: Ipv4Addr) -> Self {
        Self {
            ip,
            counters: BTreeMap::new(),
            wires: BTreeMap::new(),
        }
    }

    pub(super) fn hang_up(&mut self) {
        self.wires.clear();
    }

    pub(super) fn knows(&self, key: Key) -> bool {
        self.counters.contains_key(&key)
    }

    pub(super) fn each(&mut self, mut change: impl FnMut(&Key, &mut Counter)) {
        self.counters
            .iter_mut()
            .for_each(|(key, counter)| change(key, counter));
    }

    /// Sends `count` requests at once through a door.
    pub(super) fn send(
        &mut self,
        round: &Round<'_>,
        door: usize,
        bytes: &[u8],
        count: usize,
    ) -> Vec<Outcome> {
        let to = round.doors[door % round.doors.len()];
        let from = round.time.now();
        let lost = || -> Vec<Outcome> {
            let at = Span {
                from,
                to: round.time.now(),
            };
            (0..count).map(|_| Outcome { at, reply: None }).collect()
        };
        let wire = match self.wires.remove(&to) {
            Some(wire) => Ok(wire),
            None => Wire::connect(self.ip, to),
        };
        let Ok(mut wire) = wire else {
            return lost();
        };
        let outcomes = wire.exchange(bytes, count, &round.time);
        if outcomes.iter().all(|outcome| outcome.reply.is_some()) {
            self.wires.insert(to, wire);
        }
        outcomes
    }

    /// Holds one outcome against the model.
    pub(super) fn judge(
        &mut self,
        round: &Round<'_>,
        what: &str,
        counted: &Counted,
        outcome: Outcome,
    ) -> Result<Answer, String> {
        let at = outcome.at;
        // The proxy answers for a server that is gone.
        let Some(reply) = outcome
            .reply
            .filter(|reply| !matches!(reply.status, 502 | 504))
        else {
            if !round.may_be_lost {
                return Err(format!(
                    "{what} from {}: no answer, and nothing was killed",
                    self.ip
                ));
            }
            self.lose_sight(round, counted, at);
            return Ok(Answer::Lost);
        };
        round.answers.fetch_add(1, Ordering::Relaxed);
        let judged = match reply.status {
            429 => self.refused(round, counted, at, &reply),
            _ => self.passed(round, counted, at, &reply),
        };
        match judged {
            Err(why) => Err(format!(
                "{what} from {}: {why}: {} {}",
                self.ip, reply.status, reply.body
            )),
            Ok(()) if reply.status == 429 => Ok(Answer::Refused),
            Ok(()) => Ok(Answer::Passed(reply)),
        }
    }

    fn lose_sight(&mut self, round: &Round<'_>, counted: &Counted, at: Span) {
        for key in counted.keys.iter().chain(&counted.failing) {
            if let Some(policy) = round.limits.get(*key) {
                self.counters
                    .entry(*key)
                    .or_default()
                    .lose_sight(at, policy, 1);
            }
        }
    }

    fn refused(
        &mut self,
        round: &Round<'_>,
        counted: &Counted,
        at: Span,
        reply: &Reply,
    ) -> Result<(), String> {
        let (named, seen) = refusal(round, counted, at, reply)?;
        if Some(named) == counted.failing {
            // It was admitted, and stopped before the hash: what is refused is counted in none.
            self.see_all(round, &counted.keys, at)?;
            for key in &counted.keys {
                if round.limits.get(*key).is_some() {
                    self.counters.entry(*key).or_default().give_back();
                }
            }
        }
        self.see(round, named, at, seen)
    }

    fn passed(
        &mut self,
        round: &Round<'_>,
        counted: &Counted,
        at: Span,
        reply: &Reply,
    ) -> Result<(), String> {
        if reply.number("x-ratelimit-limit").is_some() {
            return Err("no refusal, with the headers of one".to_owned());
        }
        if reply.status >= 500 && (!round.disk_is_full || leaks(reply)) {
            return Err("a fault of the server".to_owned());
        }
        let keys: Vec<Key> = counted
            .keys
            .iter()
            .chain(&counted.failing)
            .copied()
            .collect();
        self.see_all(round, &keys, at)?;
        let failing = counted
            .failing
            .filter(|key| reply.status != 401 && round.limits.get(*key).is_some());
        if let Some(failing) = failing {
            self.counters.entry(failing).or_default().give_back();
        }
        Ok(())
    }

    fn see_all(&mut self, round: &Round<'_>, keys: &[Key], at: Span) -> Result<(), String> {
        for key in keys {
            if round.limits.get(*key).is_some() {
                self.see(round, *key, at, Seen::Admitted)?;
            }
        }
        Ok(())
    }

    fn see(&mut self, round: &Round<'_>, key: Key, at: Span, seen: Seen) -> Result<(), String> {
        let policy: Policy = round
            .limits
            .get(key)
            .ok_or_else(|| format!("{key:?} is not limited"))?;
        let counter = self.counters.entry(key).or_default();
        counter
            .see(at, policy, seen)
            .map_err(|why| format!("{key:?}: {why}"))
    }
}

/// Which counter a refusal names, and what it says of it.
fn refusal(
    round: &Round<'_>,
    counted: &Counted,
    at: Span,
    reply: &Reply,
) -> Result<(Key, Seen), String> {
    let body = reply.json()?;
    let named =
        |key: &&Key| body["collection"] == key.collection && body["operation"] == key.operation;
    let key = counted.keys.iter().chain(&counted.failing).find(named);
    let key = *key.ok_or_else(|| format!("refused by a counter of something else: {body}"))?;
    let numbers = [
        reply.number("retry-after"),
        reply.number("x-ratelimit-limit"),
        reply.number("x-ratelimit-reset"),
    ];
    let [Some(retry_after), Some(limit), Some(reset)] = numbers else {
        return Err(format!("a refusal without its headers: {body}"));
    };
    if body["retryAfter"] != retry_after || reply.number("x-ratelimit-remaining") != Some(0) {
        return Err(format!("a refusal that contradicts itself: {body}"));
    }
    let since = |moment: u64| i64::try_from(round.time.now() - moment).unwrap_or(0);
    let second = |moment: u64| (round.time.clock.wall_ms() - since(moment)) / 1_000;
    // The server's wall time may be a second from the machine's, and both are rounded.
    let told = i64::try_from(reset).unwrap_or(0) - i64::try_from(retry_after).unwrap_or(0);
    if told < second(at.from) - 2 || told > second(at.to) + 2 {
        return Err(format!("the reset {reset} is not {retry_after} s from now"));
    }
    let limit = u32::try_from(limit).map_err(|error| error.to_string())?;
    Ok((key, Seen::Refused { limit, retry_after }))
}

/// What a caller reads of a full disk says nothing of it.
fn leaks(reply: &Reply) -> bool {
    let text = reply.body.to_lowercase();
    !text.starts_with("{\"error\":")
        || ["sqlite", "disk", "/"]
            .iter()
            .any(|word| text.contains(word))
}
