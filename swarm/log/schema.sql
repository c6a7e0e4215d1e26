-- The log of one study: one DuckDB file. Rows carry their key (room, round, seat ...), so what is
-- missing is a query. Text in turns, blocks, discarded and replays was written by agents: it is
-- data wherever it is shown. No key or header of a provider is ever stored.

CREATE TABLE studies (       -- the one study of this log
    name VARCHAR,            -- scenario and seed, for people
    scenario VARCHAR,        -- registered name of the scenario
    settings VARCHAR,        -- the study as JSON; what decides its rooms
    engine VARCHAR,          -- version of swarm that wrote the log
    layout VARCHAR,          -- hash of the layout of these tables
    surrogates VARCHAR[]     -- names of the models that are scripted surrogate agents
);
CREATE TABLE rooms (         -- every room of the study, written before the first is played
    room VARCHAR,            -- id: w035_r2 is world 35, rotation 2
    world INTEGER,           -- rooms of one world share its outages
    rotation INTEGER,        -- of names over models, from 0
    seed BIGINT,             -- root of the room's random streams
    world_seed BIGINT,       -- root of its world's
    listed VARCHAR[]         -- names as the system prompt lists them
);
CREATE TABLE seats (         -- who sits where in each room
    room VARCHAR,            -- id of the room
    seat TINYINT,            -- 0 is the study's first name
    name VARCHAR,            -- the agent's
    model VARCHAR,           -- as the study names it
    position TINYINT         -- place of the name in the prompt's list, 0 is first
);
CREATE TABLE outages (       -- truth of a world; no agent is told, no stage reads it but grading
    world INTEGER,           -- rooms of one world share its outages
    outage TINYINT,          -- number within its world, from 0
    alerting VARCHAR,        -- service that shows errors
    root VARCHAR,            -- service whose change is the cause
    cause VARCHAR,           -- change id
    twin VARCHAR,            -- the other config change on the root
    decoy VARCHAR,           -- deploy of the alerting service, two minutes before the alert
    since VARCHAR            -- HH:MM of the alert
);
CREATE TABLE changes (       -- the list that everybody gets, in its order
    world INTEGER,           -- rooms of one world share its outages
    position SMALLINT,       -- place on the list, from 0
    change VARCHAR,          -- id, D-466
    service VARCHAR,         -- service that it concerns
    kind VARCHAR,            -- config change, deploy, ...
    time VARCHAR             -- HH:MM
);
CREATE TABLE turns (         -- one row a reply that took effect
    room VARCHAR,            -- id of the room
    round TINYINT,           -- from 1
    position TINYINT,        -- place in the round's turn order, from 0
    seat TINYINT,            -- seat of the agent
    attempts TINYINT,        -- replies asked for, the last of them is in `reply`
    status VARCHAR,          -- ok | repaired | invalid (a pass)
    rule VARCHAR,            -- what repaired it, or why it is invalid
    failed VARCHAR,          -- why there is no usable reply: the fault that outlasted all tries
    reply VARCHAR,           -- text as the model wrote it, cut at 20,000 characters
    note VARCHAR,            -- private note as kept
    post VARCHAR,            -- post as published, '' for none
    post_block UBIGINT,      -- the post's block, NULL for none
    query VARCHAR,           -- service queried, NULL for none or refused
    file VARCHAR,            -- change filed, NULL for none or refused
    reasoning VARCHAR,       -- reasoning text, where the provider gives it
    model VARCHAR,           -- as the study names it
    served_by VARCHAR,       -- provider's own model id
    fingerprint VARCHAR,     -- provider's system fingerprint
    tokens_in INTEGER,       -- NULL is unknown
    tokens_cached INTEGER,   -- of those, read from a cache
    tokens_out INTEGER,      -- completion tokens, NULL is unknown
    tokens_reasoning INTEGER, -- of those, for reasoning
    cost DOUBLE,             -- US dollars, NULL is unknown
    latency DOUBLE,          -- seconds; drawn for surrogates
    finished DOUBLE          -- seconds on the room's clock when the turn took effect
);
CREATE TABLE discarded (     -- replies that could not be read and were asked for again
    room VARCHAR,            -- id of the room
    round TINYINT,           -- from 1
    seat TINYINT,            -- seat of the agent
    attempt TINYINT,         -- from 0
    reply VARCHAR,           -- text as the model wrote it
    tokens_in INTEGER,       -- prompt tokens, NULL is unknown
    tokens_out INTEGER,      -- completion tokens, NULL is unknown
    cost DOUBLE,             -- US dollars, NULL is unknown
    latency DOUBLE           -- seconds
);
CREATE TABLE refusals (      -- parts of replies that the rules did not take
    room VARCHAR,            -- id of the room
    round TINYINT,           -- from 1
    seat TINYINT,            -- seat of the agent
    field VARCHAR,           -- note | post | query | file | another key of the reply
    value VARCHAR,           -- first 200 characters
    reason VARCHAR           -- why
);
CREATE TABLE blocks (        -- every piece of every prompt, once
    block UBIGINT,           -- hash of kind and text
    kind VARCHAR,            -- what it is
    text VARCHAR             -- as a model reads it
);
CREATE TABLE prompts (       -- what each turn's model read, as block ids in order
    room VARCHAR,            -- id of the room
    round TINYINT,           -- from 1
    seat TINYINT,            -- seat of the agent
    system UBIGINT[],        -- block ids of the system prompt, in order
    turn UBIGINT[]           -- block ids of the turn prompt, in order
);
CREATE TABLE cards (         -- private results of queries
    room VARCHAR,            -- id of the room
    round TINYINT,           -- of the query; the card is in the seat's next prompt
    seat TINYINT,            -- seat of the agent
    service VARCHAR,         -- service that it concerns
    kind VARCHAR,            -- alerting | root | clean
    block UBIGINT            -- id of the block
);
CREATE TABLE filings (       -- filings that counted
    room VARCHAR,            -- id of the room
    round TINYINT,           -- from 1
    position TINYINT,        -- place in the round's turn order, from 0
    seat TINYINT,            -- seat of the agent
    change VARCHAR,          -- change id
    service VARCHAR,         -- service that it concerns
    correct BOOLEAN,         -- whether it fixed an outage
    outage TINYINT           -- the outage it fixed, NULL when wrong
);
CREATE TABLE outcomes (      -- one row ends a room
    room VARCHAR,            -- id of the room
    reason VARCHAR,          -- fixed | filings spent | rounds over
    rounds TINYINT,          -- last round played
    turns SMALLINT,          -- turns played
    queries SMALLINT,        -- queries made
    duplicates SMALLINT,     -- queries of a service that had been queried before
    filings TINYINT,         -- filings used
    fixed TINYINT,           -- outages fixed
    seconds DOUBLE           -- length on the room's clock
);
CREATE TABLE intents (       -- what surrogates meant; read by evaluations of taggers only
    room VARCHAR,            -- id of the room
    round TINYINT,           -- from 1
    seat TINYINT,            -- seat of the agent
    teammate VARCHAR,        -- the one who is asked
    kind VARCHAR,            -- query | file
    target VARCHAR           -- service or change id
);
CREATE TABLE tagged (        -- rooms that a tagger has been through
    tagger VARCHAR,          -- name of the tagger
    version VARCHAR,         -- of the tagger
    model VARCHAR,           -- hash of its artefact, or the remote model's name; '' for rules
    room VARCHAR,            -- id of the room
    posts SMALLINT,          -- posts that it read
    abstain_below DOUBLE,    -- directives of a lower probability are doubts, NULL when all count
    withheld SMALLINT        -- directives that it found and that are doubts for that reason
);
CREATE TABLE directives (    -- what taggers found in posts
    tagger VARCHAR,          -- name of the tagger
    room VARCHAR,            -- id of the room
    round TINYINT,           -- of the post
    seat TINYINT,            -- its author
    teammate TINYINT,        -- seat of the one it names
    kind VARCHAR,            -- query | file
    target VARCHAR,          -- service or change id
    probability DOUBLE       -- that it is one, as the tagger says; NULL when it says none
);
CREATE TABLE doubts (        -- what taggers considered and did not count, for review
    tagger VARCHAR,          -- name of the tagger
    room VARCHAR,            -- id of the room
    round TINYINT,           -- of the post
    seat TINYINT,            -- its author
    teammate TINYINT,        -- seat of the one it may name
    kind VARCHAR,            -- query | file
    target VARCHAR,          -- service or change id
    probability DOUBLE       -- that it is a directive, as the tagger says
);
CREATE TABLE contradictions ( -- answers of taggers that do not fit each other
    tagger VARCHAR,          -- name of the tagger
    room VARCHAR,            -- id of the room
    round TINYINT,           -- of the post
    seat TINYINT,            -- its author
    question VARCHAR         -- Bo.service: Bo is asked to query, and no service is named
);
CREATE TABLE answers (       -- what remote taggers were answered about each post, kept for reuse
    tagger VARCHAR,          -- name of the tagger
    version VARCHAR,         -- of the tagger
    model VARCHAR,           -- the remote model, by the name it was asked for
    room VARCHAR,            -- id of the room
    round TINYINT,           -- of the post
    seat TINYINT,            -- its author
    key VARCHAR,             -- hash of the model's settings, the state and the questions
    attempts TINYINT,        -- replies asked for so far, in all runs
    answers VARCHAR,         -- by question id, as JSON: choice and every option's probability; NULL
                             -- when the replies could not be read (a later run asks again)
    tokens INTEGER,          -- of the request, all replies together; NULL is unknown
    served_by VARCHAR        -- provider's own model id
);
CREATE TABLE replays (       -- a decision's turn, asked again
    room VARCHAR,            -- id of the room
    round TINYINT,           -- from 1
    seat TINYINT,            -- seat of the agent
    removed UBIGINT,         -- block taken out of the prompt; 0 for none, the "with" arm
    replicate SMALLINT,      -- from 0
    seed BIGINT,             -- given to the model
    attempts TINYINT,        -- replies asked for
    status VARCHAR,          -- ok | repaired | invalid
    query VARCHAR,           -- service that the reply queries, NULL for none
    file VARCHAR,            -- change that the reply files, NULL for none
    reply VARCHAR,           -- text as the model wrote it
    reasoning VARCHAR,       -- reasoning text, where the provider gives it
    tokens_in INTEGER,       -- prompt tokens, NULL is unknown
    tokens_out INTEGER,      -- completion tokens, NULL is unknown
    cost DOUBLE,             -- US dollars, NULL is unknown
    latency DOUBLE           -- seconds
);
CREATE TABLE influences (    -- followed directives with their replays
    tagger VARCHAR,          -- name of the tagger
    schedule VARCHAR,        -- name of the replay schedule
    room VARCHAR,            -- id of the room
    round TINYINT,           -- of the post
    seat TINYINT,            -- author
    teammate TINYINT,        -- follower's seat
    kind VARCHAR,            -- what it is
    target VARCHAR,          -- service or change id
    decision_round TINYINT,  -- round of the decision
    n_with SMALLINT,         -- replays with the post
    x_with SMALLINT,         -- of those, how many make the decision
    n_without SMALLINT,      -- replays without it
    x_without SMALLINT,      -- of those, how many make the decision
    a DOUBLE,                -- share with the post
    b DOUBLE,                -- share without
    weight DOUBLE            -- max(0, a - b)
);
CREATE TABLE leaders (       -- rooms' leaders by rule
    tagger VARCHAR,          -- name of the tagger
    schedule VARCHAR,        -- name of the replay schedule
    rule VARCHAR,            -- published | mirror (the same rule on b - a)
    room VARCHAR,            -- id of the room
    seat TINYINT,            -- seat of the agent
    total DOUBLE,            -- sum of weights
    followers TINYINT,       -- teammates with a weight above 0
    round1 BOOLEAN           -- a round-1 plan of theirs carries weight
);

CREATE TABLE calls (         -- every live call that ended, paid or not
    key VARCHAR,             -- hash of model, parameters sent, prompt blocks and draw
    stage VARCHAR,           -- play | tag | replay | check
    room VARCHAR,            -- id of the room
    round TINYINT,           -- from 1
    seat TINYINT,            -- seat of the agent
    removed UBIGINT,         -- block taken out, 0 for none
    replicate SMALLINT,      -- from 0
    attempt TINYINT,         -- the same draw asked again because the reply could not be read
    model VARCHAR,           -- the study's name for it
    sent VARCHAR,            -- parameters actually sent, as JSON
    status VARCHAR,          -- ok | failed
    fault VARCHAR,           -- class of the last fault of a failed call
    tries SMALLINT,          -- HTTP requests
    finish VARCHAR,          -- provider's finish reason
    reply VARCHAR,           -- text as the model wrote it
    reasoning VARCHAR,       -- reasoning text, where the provider gives it
    tokens_in INTEGER,       -- NULL is unknown
    tokens_cached INTEGER,   -- of those, read from a cache
    tokens_out INTEGER,      -- completion tokens, NULL is unknown
    tokens_reasoning INTEGER, -- of those, for reasoning
    cost DOUBLE,             -- US dollars of the reply, NULL is unknown
    assumed DOUBLE,          -- US dollars that failed tries may have cost, counted as spent
    latency DOUBLE,          -- seconds of the try that was answered
    seconds DOUBLE,          -- seconds of all tries with their waits
    served_by VARCHAR,       -- provider's own model id
    fingerprint VARCHAR      -- provider's system fingerprint
);
CREATE TABLE faults (        -- every failed try of a live call
    key VARCHAR,             -- of the call
    stage VARCHAR,           -- play | tag | replay | check
    room VARCHAR,            -- id of the room
    model VARCHAR,           -- as the study names it
    try SMALLINT,            -- from 1
    fault VARCHAR,           -- class
    status SMALLINT,         -- HTTP status, NULL for none
    code VARCHAR,            -- provider's short code
    retry_after DOUBLE,      -- seconds that the provider asked for
    seconds DOUBLE           -- until it failed
);
CREATE TABLE prices (        -- prices of the study's models, copied when first used
    model VARCHAR,           -- as the study names it
    input DOUBLE,            -- US dollars for a million prompt tokens
    cached DOUBLE,           -- for a million of those read from a cache
    output DOUBLE,           -- for a million completion tokens
    source VARCHAR           -- study | litellm
);
CREATE TABLE allowances (    -- most money that calls under way may cost, known before they are made
    run INTEGER,             -- from 1
    amount DOUBLE,           -- US dollars
    closed BOOLEAN           -- the run ended in order and nothing was under way
);

CREATE VIEW losses AS        -- US dollars that runs which did not end in order may have lost
    SELECT run, max(amount) AS amount FROM allowances GROUP BY run HAVING NOT bool_or(closed);
CREATE VIEW decisions AS     -- what agents did: services queried, changes filed
    SELECT room, round, position, seat, 'query' AS kind, query AS target FROM turns
    WHERE query IS NOT NULL
    UNION ALL
    SELECT room, round, position, seat, 'file', file FROM turns WHERE file IS NOT NULL;
CREATE VIEW posts AS         -- what stands in the channels
    SELECT t.room, t.round, t.position, t.seat, s.name AS author, t.model, t.post, t.post_block
    FROM turns t JOIN seats s USING (room, seat) WHERE t.post_block IS NOT NULL;
CREATE VIEW plans AS         -- posts with directives for two or more teammates
    SELECT tagger, room, round, seat, count(DISTINCT teammate) AS teammates
    FROM directives GROUP BY ALL HAVING count(DISTINCT teammate) >= 2;
CREATE VIEW follows AS       -- directives whose teammate made the decision in one of its first
    WITH mine AS (           -- two turns after the post
        SELECT room, round, position, seat, query, file,
               row_number() OVER (PARTITION BY room, seat ORDER BY round) AS nth
        FROM turns
    ),
    seen AS (                -- the teammate's first turn that could see the post
        SELECT d.tagger, d.room, d.round, d.seat, d.teammate, d.kind, d.target,
               min(m.nth) AS first_nth
        FROM directives d
        JOIN turns p ON p.room = d.room AND p.round = d.round AND p.seat = d.seat
        JOIN mine m ON m.room = d.room AND m.seat = d.teammate
            AND (m.round > d.round OR (d.round > 1 AND m.round = d.round AND m.position > p.position))
        GROUP BY ALL
    )
    SELECT s.* EXCLUDE (first_nth), m.round AS decision_round, m.nth - s.first_nth + 1 AS turn
    FROM seen s JOIN mine m
        ON m.room = s.room AND m.seat = s.teammate AND m.nth BETWEEN s.first_nth AND s.first_nth + 1
    WHERE CASE s.kind WHEN 'query' THEN m.query ELSE m.file END = s.target;
