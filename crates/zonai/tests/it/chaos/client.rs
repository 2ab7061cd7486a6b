//! What one client does in a round: bursts of reads, rows, accounts; from several addresses, directly and through the proxy.
//!
//! Must never touch what another client owns, so that all of them may run at once and each answer is still known.

use std::net::Ipv4Addr;

use serde_json::{Value, json};

use super::dice::Dice;
use super::judge::{Address, Answer, Counted, Round};
use super::limits::{Key, UNKNOWN, past_any};
use super::rows::Rows;
use super::run::CLIENTS;
use super::sessions::Account;
use super::wire::{Reply, read_of, request};

/// So many addresses a client.
const ADDRESSES: usize = 3;
const READS: [&str; 3] = ["list", "count", "get"];
/// The address of a client that it has for the shortest time, directly.
const NEWEST: (usize, usize) = (ADDRESSES - 1, 0);
/// So many steps a round.
const STEPS: usize = 8;
/// The bytes that are sent before an answer is read: the server must not wait for its reader.
const MOST_BYTES: usize = 32 << 10;

pub(super) struct Client {
    who: u64,
    seed: u64,
    pub(super) owner: String,
    pub(super) addresses: Vec<Address>,
    next_address: u64,
    pub(super) rows: Rows,
    pub(super) accounts: Vec<Account>,
    pub(super) serial: u64,
    /// Where durable counts were under way when something was killed: they are counted to the end afterwards.
    interrupted: Option<(usize, &'static str)>,
    /// The server was started anew.
    pub(super) restarted: bool,
}

/// Whether the client goes on with the round.
pub(super) type Went = Result<bool, String>;

impl Client {
    pub(super) fn new(seed: u64, who: u64) -> Self {
        let accounts = (0..2).map(|number| Account::new(format!("c{who}.{number}@x.org")));
        let mut client = Self {
            who,
            seed,
            owner: format!("client {who}"),
            addresses: Vec::new(),
            next_address: 0,
            rows: Rows::default(),
            accounts: accounts.collect(),
            serial: 0,
            interrupted: None,
            restarted: false,
        };
        (0..ADDRESSES).for_each(|_| client.move_in());
        client
    }

    /// A new address, that the server has never seen.
    fn move_in(&mut self) {
        let number = self.next_address;
        self.next_address += 1;
        let third = 1 + self.who * 32 + number / 250;
        // A run of hours comes to the next network.
        let second = 10 + third / 256;
        let ip = Ipv4Addr::new(
            127,
            second as u8,
            (third % 256) as u8,
            (1 + number % 250) as u8,
        );
        self.addresses.push(Address::new(ip));
    }

    /// Gives the oldest address up for a new one.
    fn move_on(&mut self) {
        self.addresses.remove(0);
        self.move_in();
    }

    /// One round; ends early where something was killed.
    pub(super) fn play(&mut self, round: &Round<'_>) -> Result<(), String> {
        let mut dice = Dice::of(self.seed, round.number, self.who);
        if round.number.is_multiple_of(8) {
            // No connection is idle for so long that either side may end it.
            self.hang_up();
        }
        if let Some((at, operation)) = self.interrupted.take() {
            // More than any limit: the refusal tells how many were counted before.
            self.without_a_token(round, at, 0, operation, 450)?;
        }
        if std::mem::take(&mut self.restarted) && !self.revisit(round)? {
            self.hang_up();
            return Ok(());
        }
        if dice.percent(30) {
            self.move_on();
        }
        if let Some(table) = round.changed
            && round.number % CLIENTS == self.who
            && !self.try_out(round, &mut dice, table)?
        {
            self.hang_up();
            return Ok(());
        }
        for _ in 0..STEPS {
            let goes_on = if round.only_commits {
                self.move_on();
                self.committed(round, ADDRESSES - 1, dice.index(2), "refreshToken", 300)?
            } else {
                self.step(round, &mut dice)?
            };
            if !goes_on {
                self.hang_up();
                break;
            }
        }
        Ok(())
    }

    fn step(&mut self, round: &Round<'_>, dice: &mut Dice) -> Went {
        let at = dice.index(ADDRESSES);
        let door = dice.index(2);
        if dice.percent(if round.may_be_lost { 30 } else { 8 }) {
            let operation = dice.pick(&["refreshToken", "refreshToken", "logout", "logoutAll"]);
            let count = 1 + dice.index(30);
            return self.committed(round, at, door, operation, count);
        }
        match dice.below(100) {
            0..42 => self.reads(round, dice, at, door),
            42..70 => self.unknown(round, dice, at, door),
            70..87 => self.ledger(round, dice, at, door),
            _ => self.account(round, dice, at, door),
        }
    }

    pub(super) fn hang_up(&mut self) {
        self.addresses.iter_mut().for_each(Address::hang_up);
    }

    fn reads(&mut self, round: &Round<'_>, dice: &mut Dice, at: usize, door: usize) -> Went {
        let table = dice.pick(&["tasks", "notes"]);
        let operation = dice.pick(&READS);
        self.read(round, (at, door), table, operation, 1 + dice.index(300))
    }

    /// From an address that has asked nothing yet, more than any limit that a file may set: what is in force shows at once.
    fn try_out(&mut self, round: &Round<'_>, dice: &mut Dice, table: &'static str) -> Went {
        self.move_on();
        let (way, count) = (NEWEST, past_any(table));
        match table {
            "users" => self.guess(round, way, dice.index(2), count),
            "ledger" => self.read(round, way, table, "get", count),
            _ => self.read(round, way, table, dice.pick(&READS), count),
        }
    }

    /// After a restart each counter is looked at: what was full is full.
    fn revisit(&mut self, round: &Round<'_>) -> Went {
        for at in 0..ADDRESSES {
            for (table, operation) in ["tasks", "notes"]
                .into_iter()
                .flat_map(|table| READS.map(|read| (table, read)))
            {
                let known = self.addresses[at].knows(Key::of(table, operation));
                if known && !self.read(round, (at, at), table, operation, 3)? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    fn read(
        &mut self,
        round: &Round<'_>,
        way: (usize, usize),
        table: &'static str,
        operation: &'static str,
        count: usize,
    ) -> Went {
        let payload = json!({"table": table});
        let one = json!({"table": table, "where": {"type": "eq", "column": "id", "value": "none"}});
        let (bytes, status) = match operation {
            "list" => (read_of("/db/list", &payload, None), 200),
            "count" => (read_of("/db/count", &payload, None), 200),
            _ => (read_of("/db", &one, None), 404),
        };
        let counted = Counted::on(&[Key::of(table, operation)]);
        self.burst(round, way, &bytes, count, &counted, status)
    }

    fn unknown(&mut self, round: &Round<'_>, dice: &mut Dice, at: usize, door: usize) -> Went {
        // Mostly past the limit: a count that was lost shows there, and only there.
        let count = 300 + dice.index(300);
        let bytes = read_of("/db/list", &json!({"table": "ghosts"}), None);
        self.burst(
            round,
            (at, door),
            &bytes,
            count,
            &Counted::on(&[UNKNOWN]),
            404,
        )
    }

    /// Counts that are committed one by one; where they are interrupted, they are counted to the end later.
    fn committed(
        &mut self,
        round: &Round<'_>,
        at: usize,
        door: usize,
        operation: &'static str,
        count: usize,
    ) -> Went {
        let goes_on = self.without_a_token(round, at, door, operation, count)?;
        self.interrupted = (!goes_on).then_some((at, operation));
        Ok(goes_on)
    }

    /// Cheap, and yet each count is committed before the answer.
    fn without_a_token(
        &mut self,
        round: &Round<'_>,
        at: usize,
        door: usize,
        operation: &'static str,
        count: usize,
    ) -> Went {
        let (method, path) = way_of(operation);
        let counted = Counted::on(&[Key::of("__auth_header__", operation)]);
        self.burst(
            round,
            (at, door),
            &request(method, path, None, None),
            count,
            &counted,
            401,
        )
    }

    /// The same request many times, without waiting for an answer before the next.
    fn burst(
        &mut self,
        round: &Round<'_>,
        (at, door): (usize, usize),
        bytes: &[u8],
        count: usize,
        counted: &Counted,
        status: u16,
    ) -> Went {
        let mut left = count;
        let whole = (MOST_BYTES / bytes.len()).max(1);
        while left > 0 {
            let now = left.min(whole);
            left -= now;
            let address = &mut self.addresses[at];
            let mut goes_on = true;
            for outcome in address.send(round, door, &bytes.repeat(now), now) {
                match address.judge(round, "burst", counted, outcome)? {
                    Answer::Passed(reply)
                        if reply.status != status
                            && !(round.disk_is_full && reply.status >= 500) =>
                    {
                        return Err(format!(
                            "{} instead of {status}: {}",
                            reply.status, reply.body
                        ));
                    }
                    Answer::Lost => goes_on = false,
                    _ => {}
                }
            }
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// One request, and what came of it.
    pub(super) fn one(
        &mut self,
        round: &Round<'_>,
        (at, door): (usize, usize),
        what: &str,
        counted: &Counted,
        bytes: &[u8],
    ) -> Result<Answer, String> {
        let address = &mut self.addresses[at];
        let outcome = address.send(round, door, bytes, 1).remove(0);
        address.judge(round, what, counted, outcome)
    }

    /// All that the client owns, as the server has it now. Its counters are not limited.
    pub(super) fn audit(&mut self, round: &Round<'_>) -> Result<(), String> {
        let all = read_of("/db/list", &super::rows::all_of(&self.owner), None);
        let reply = self.unlimited(round, Key::of("ledger", "list"), &all)?;
        self.rows.compare(&reply.json()?)?;
        for account in 0..self.accounts.len() {
            for token in 0..self.accounts[account].tokens.len() {
                self.look_at(round, account, token)?;
            }
        }
        Ok(())
    }

    /// Whether a session lives.
    pub(super) fn look_at(
        &mut self,
        round: &Round<'_>,
        account: usize,
        token: usize,
    ) -> Result<(), String> {
        let text = self.accounts[account].tokens[token].text.clone();
        let private: Value = json!({"table": "private"});
        let reply = self.unlimited(
            round,
            Key::of("private", "list"),
            &read_of("/db/list", &private, Some(&text)),
        )?;
        let lives = match reply.status {
            200 => true,
            401 => false,
            other => return Err(format!("a session: {other} {}", reply.body)),
        };
        self.accounts[account].tokens[token]
            .live
            .see(lives, "whether a session lives")
    }

    fn unlimited(&mut self, round: &Round<'_>, key: Key, bytes: &[u8]) -> Result<Reply, String> {
        match self.one(round, (0, 0), "audit", &Counted::on(&[key]), bytes)? {
            Answer::Passed(reply) => Ok(reply),
            _ => Err("no answer to the audit".to_owned()),
        }
    }
}

/// The route of an operation that carries a token and no table.
pub(super) fn way_of(operation: &str) -> (&'static str, &'static str) {
    match operation {
        "refreshToken" => ("POST", "/auth/refresh"),
        "logout" => ("DELETE", "/auth"),
        _ => ("DELETE", "/auth/all"),
    }
}
