//! What clients do with rows and accounts, one request at a time.
//!
//! Must never note a write as done before its answer, nor as not done without one.

use serde_json::{Value, json};

use super::client::{Client, Went, way_of};
use super::dice::Dice;
use super::judge::{Answer, Counted, Round};
use super::limits::Key;
use super::rows::{Doubt, Row, by_id, object, read};
use super::sessions::Is;
use super::wire::{read_of, request};

const PASSWORD: &str = "correct horse battery";
/// A client has no more rows than one answer shows.
const MOST_ROWS: usize = 200;

impl Client {
    pub(super) fn ledger(
        &mut self,
        round: &Round<'_>,
        dice: &mut Dice,
        at: usize,
        door: usize,
    ) -> Went {
        for _ in 0..=dice.below(6) {
            let number = dice.index(1_000);
            let goes_on = match dice.below(10) {
                0..4 => self.create(round, (at, door), dice.percent(40))?,
                4..7 => self.update(round, (at, door), number)?,
                7..9 => self.delete(round, (at, door), number)?,
                _ => self.get(round, (at, door), number)?,
            };
            if !goes_on {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn create(&mut self, round: &Round<'_>, way: (usize, usize), many: bool) -> Went {
        if self.rows.sure.len() >= MOST_ROWS {
            return Ok(true);
        }
        let texts: Vec<String> = (0..if many { 3 } else { 1 })
            .map(|_| self.next_text())
            .collect();
        let objects: Vec<Value> = texts.iter().map(|text| object(&self.owner, text)).collect();
        let (path, body) = if many {
            ("/db/many", json!({"table": "ledger", "objects": objects}))
        } else {
            ("/db", json!({"table": "ledger", "object": objects[0]}))
        };
        let counted = Counted::on(&[Key::of("ledger", "create")]);
        match self.one(
            round,
            way,
            "create",
            &counted,
            &request("POST", path, None, Some(&body)),
        )? {
            Answer::Lost => self.rows.doubt(Doubt::Created(texts)),
            Answer::Passed(reply) if reply.status == 200 => {
                let data = reply.json()?["data"].take();
                let made = if many {
                    data.as_array().cloned().unwrap_or_default()
                } else {
                    vec![data]
                };
                if made.len() != texts.len() {
                    return Err(format!("not all of {texts:?} were created: {}", reply.body));
                }
                for (item, text) in made.iter().zip(&texts) {
                    let (id, row) = (item["id"].as_str().unwrap_or_default(), read(item));
                    let is_ours = row.as_ref().is_some_and(|row| row.text == *text);
                    let Some(row) = row.filter(|_| is_ours && !id.is_empty()) else {
                        return Err(format!("another row than {text}: {item}"));
                    };
                    self.rows.sure.insert(id.to_owned(), row);
                }
                return Ok(true);
            }
            Answer::Passed(reply) if reply.status < 500 => {
                return Err(format!("create: {}", reply.body));
            }
            Answer::Passed(_) | Answer::Refused => return Ok(true),
        }
        Ok(false)
    }

    fn update(&mut self, round: &Round<'_>, way: (usize, usize), number: usize) -> Went {
        let Some((id, row)) = self
            .rows
            .any(number)
            .map(|(id, row)| (id.clone(), row.clone()))
        else {
            return Ok(true);
        };
        let new = Row {
            text: self.next_text(),
            hits: row.hits + 1,
        };
        let updates = json!([{"column": "text", "value": new.text}, {"column": "hits", "value": {"increment": 1}}]);
        let body = json!({"table": "ledger", "where": by_id(&id), "updates": updates});
        let counted = Counted::on(&[Key::of("ledger", "update")]);
        match self.one(
            round,
            way,
            "update",
            &counted,
            &request("PATCH", "/db", None, Some(&body)),
        )? {
            Answer::Lost => self.rows.doubt(Doubt::Updated(id, new)),
            Answer::Passed(reply) if reply.status == 200 => {
                if read(&reply.json()?["data"]).as_ref() != Some(&new) {
                    return Err(format!("updated to {new:?}: {}", reply.body));
                }
                self.rows.sure.insert(id, new);
                return Ok(true);
            }
            Answer::Passed(reply) if reply.status < 500 => {
                return Err(format!("update: {}", reply.body));
            }
            Answer::Passed(_) | Answer::Refused => return Ok(true),
        }
        Ok(false)
    }

    fn delete(&mut self, round: &Round<'_>, way: (usize, usize), number: usize) -> Went {
        let Some(id) = self.rows.any(number).map(|(id, _)| id.clone()) else {
            return Ok(true);
        };
        let body = json!({"table": "ledger", "where": by_id(&id)});
        let counted = Counted::on(&[Key::of("ledger", "delete")]);
        match self.one(
            round,
            way,
            "delete",
            &counted,
            &request("DELETE", "/db", None, Some(&body)),
        )? {
            Answer::Lost => self.rows.doubt(Doubt::Deleted(id)),
            Answer::Passed(reply) if reply.status == 204 => {
                self.rows.sure.remove(&id);
                return Ok(true);
            }
            Answer::Passed(reply) if reply.status < 500 => {
                return Err(format!("delete: {}", reply.body));
            }
            Answer::Passed(_) | Answer::Refused => return Ok(true),
        }
        Ok(false)
    }

    fn get(&mut self, round: &Round<'_>, way: (usize, usize), number: usize) -> Went {
        let Some((id, row)) = self
            .rows
            .any(number)
            .map(|(id, row)| (id.clone(), row.clone()))
        else {
            return Ok(true);
        };
        let bytes = read_of(
            "/db",
            &json!({"table": "ledger", "where": by_id(&id)}),
            None,
        );
        match self.one(
            round,
            way,
            "get",
            &Counted::on(&[Key::of("ledger", "get")]),
            &bytes,
        )? {
            Answer::Lost => Ok(false),
            Answer::Passed(reply)
                if reply.status < 500 && read(&reply.json()?["data"]) != Some(row.clone()) =>
            {
                Err(format!("{id} should be {row:?}: {}", reply.body))
            }
            Answer::Passed(_) | Answer::Refused => Ok(true),
        }
    }

    fn next_text(&mut self) -> String {
        self.serial += 1;
        format!("{} text {}", self.owner, self.serial)
    }

    pub(super) fn account(
        &mut self,
        round: &Round<'_>,
        dice: &mut Dice,
        at: usize,
        door: usize,
    ) -> Went {
        let account = dice.index(self.accounts.len());
        let tokens = self.accounts[account].tokens.len();
        // Mostly the newest, which lives; now and then one that has ended.
        let token = if dice.percent(60) {
            1
        } else {
            1 + dice.index(tokens.max(1))
        };
        match (dice.below(10), tokens.checked_sub(token)) {
            (0, _) => self.sign(round, (at, door), account, "/auth/sign-up", true),
            (1..3, _) => self.sign(round, (at, door), account, "/auth/sign-in", true),
            (3, _) => self.sign(round, (at, door), account, "/auth", true),
            (4, _) => self.sign(round, (at, door), account, "/auth/sign-in", false),
            (_, None) => Ok(true),
            (5..8, Some(token)) => {
                self.with_token(round, (at, door), account, token, "refreshToken")
            }
            (8, Some(token)) => self.with_token(round, (at, door), account, token, "logout"),
            (_, Some(token)) => self.with_token(round, (at, door), account, token, "logoutAll"),
        }
    }

    /// Wrong passwords, one after the other.
    pub(super) fn guess(
        &mut self,
        round: &Round<'_>,
        way: (usize, usize),
        account: usize,
        times: usize,
    ) -> Went {
        for _ in 0..times {
            if !self.sign(round, way, account, "/auth/sign-in", false)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn sign(
        &mut self,
        round: &Round<'_>,
        way: (usize, usize),
        account: usize,
        path: &str,
        right: bool,
    ) -> Went {
        let password = if right {
            PASSWORD
        } else {
            "wrong horse battery"
        };
        let mut body =
            json!({"table": "users", "email": self.accounts[account].email, "password": password});
        let signs_up = path == "/auth/sign-up";
        let mut counted = Counted::on(&[Key::of("users", "signIn")]);
        counted.failing = Some(Key::failed(account));
        match path {
            "/auth" => {
                body["type"] = "signIn".into();
                counted.keys.push(Key::of("users", "authenticate"));
            }
            "/auth/sign-up" => counted.keys.push(Key::of("users", "signUp")),
            _ => {}
        }
        let answer = self.one(
            round,
            way,
            path,
            &counted,
            &request("POST", path, None, Some(&body)),
        )?;
        self.signed(account, answer, signs_up, right)
    }

    /// What an answer to a sign-in or a sign-up says of the account.
    fn signed(&mut self, account: usize, answer: Answer, signs_up: bool, right: bool) -> Went {
        let account = &mut self.accounts[account];
        match answer {
            Answer::Lost => {
                if signs_up && account.exists == Is::No {
                    account.exists = Is::Unclear;
                }
                return Ok(false);
            }
            Answer::Passed(reply) if reply.status == 200 => {
                if !right {
                    return Err(format!("signed in with the wrong password: {}", reply.body));
                }
                if signs_up {
                    account.exists = Is::Yes;
                }
                account.exists.see(true, "whether the account exists")?;
                let session = reply.json()?;
                account.begins(
                    session["data"]["accessToken"]
                        .as_str()
                        .ok_or("a session without a token")?,
                );
            }
            Answer::Passed(reply) if reply.status == 401 && right => {
                account.exists.see(signs_up, "whether the account exists")?;
            }
            // A full disk may have stopped it anywhere before the answer.
            Answer::Passed(reply)
                if reply.status >= 500 && signs_up && account.exists == Is::No =>
            {
                account.exists = Is::Unclear;
            }
            Answer::Passed(reply) if !matches!(reply.status, 401 | 500..) => {
                return Err(format!("signing: {} {}", reply.status, reply.body));
            }
            Answer::Passed(_) | Answer::Refused => {}
        }
        Ok(true)
    }

    fn with_token(
        &mut self,
        round: &Round<'_>,
        way: (usize, usize),
        account: usize,
        token: usize,
        operation: &'static str,
    ) -> Went {
        let text = self.accounts[account].tokens[token].text.clone();
        let (method, path) = way_of(operation);
        let counted = Counted::on(&[Key::of("__auth_header__", operation)]);
        let answer = self.one(
            round,
            way,
            operation,
            &counted,
            &request(method, path, Some(&text), None),
        )?;
        let account = &mut self.accounts[account];
        let live = &mut account.tokens[token].live;
        let unsure = match answer {
            Answer::Refused => return Ok(true),
            Answer::Lost => true,
            Answer::Passed(reply) => match reply.status {
                401 => return live.see(false, operation).map(|()| true),
                200 | 204 => {
                    live.see(true, operation)?;
                    *live = Is::No;
                    if operation == "logoutAll" {
                        account.all(Is::No);
                    }
                    if operation == "refreshToken" {
                        let session = reply.json()?;
                        account.begins(
                            session["data"]["accessToken"]
                                .as_str()
                                .ok_or("a session without a token")?,
                        );
                    }
                    return Ok(true);
                }
                500.. => false,
                other => return Err(format!("{operation}: {other} {}", reply.body)),
            },
        };
        // Without an answer, or with a fault of the disk, it may have ended and may not.
        match (operation, *live) {
            (_, Is::No) => {}
            ("logoutAll", _) => account.all(Is::Unclear),
            _ => *live = Is::Unclear,
        }
        Ok(!unsure)
    }
}
