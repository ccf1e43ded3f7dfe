-- A store of the first release (PostgreSQL), with a few rows. Frozen: later releases must read it.
CREATE TABLE alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE attempt (
    id character varying NOT NULL,
    experiment character varying NOT NULL,
    trial character varying NOT NULL,
    number integer NOT NULL,
    node character varying NOT NULL,
    state character varying NOT NULL,
    placed_at double precision,
    ended_at double precision,
    verdict character varying,
    cause character varying,
    oom character varying,
    reward double precision,
    rule character varying,
    detail character varying,
    rules_version integer,
    record character varying
);
CREATE TABLE band (
    id integer NOT NULL,
    experiment character varying NOT NULL,
    name character varying NOT NULL,
    place integer NOT NULL,
    document character varying NOT NULL
);
CREATE SEQUENCE band_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE band_id_seq OWNED BY band.id;
CREATE TABLE cell (
    id integer NOT NULL,
    experiment character varying NOT NULL,
    key character varying NOT NULL,
    task character varying NOT NULL,
    entry character varying NOT NULL,
    band character varying NOT NULL,
    levels character varying NOT NULL,
    planned integer NOT NULL,
    n integer NOT NULL,
    passed integer NOT NULL,
    infra_errors integer NOT NULL,
    collateral integer NOT NULL,
    reward_sum double precision NOT NULL,
    reward_sumsq double precision NOT NULL
);
CREATE SEQUENCE cell_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE cell_id_seq OWNED BY cell.id;
CREATE TABLE entry (
    id integer NOT NULL,
    experiment character varying NOT NULL,
    name character varying NOT NULL,
    agent character varying NOT NULL,
    model character varying NOT NULL,
    document character varying NOT NULL
);
CREATE SEQUENCE entry_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE entry_id_seq OWNED BY entry.id;
CREATE TABLE event (
    id integer NOT NULL,
    experiment character varying NOT NULL,
    at double precision NOT NULL,
    kind character varying NOT NULL,
    subject character varying NOT NULL,
    document character varying NOT NULL
);
CREATE SEQUENCE event_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE event_id_seq OWNED BY event.id;
CREATE TABLE experiment (
    name character varying NOT NULL,
    created_at double precision NOT NULL,
    fingerprint character varying NOT NULL,
    document character varying NOT NULL,
    tasks_left_out character varying NOT NULL,
    state character varying NOT NULL,
    weight double precision NOT NULL,
    blobs character varying NOT NULL,
    version character varying NOT NULL
);
CREATE TABLE leader (
    id integer NOT NULL,
    fence bigint NOT NULL
);
CREATE TABLE node (
    id character varying NOT NULL,
    profile character varying,
    seen_at double precision NOT NULL
);
CREATE TABLE node_profile (
    hash character varying NOT NULL,
    first_seen_at double precision NOT NULL,
    document character varying NOT NULL
);
CREATE TABLE source (
    id integer NOT NULL,
    experiment character varying NOT NULL,
    kind character varying NOT NULL,
    path character varying NOT NULL,
    content_hash character varying NOT NULL,
    imported_at double precision NOT NULL,
    document character varying NOT NULL
);
CREATE SEQUENCE source_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE source_id_seq OWNED BY source.id;
CREATE TABLE task (
    id integer NOT NULL,
    experiment character varying NOT NULL,
    name character varying NOT NULL,
    content_hash character varying NOT NULL,
    document character varying NOT NULL
);
CREATE SEQUENCE task_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE task_id_seq OWNED BY task.id;
CREATE TABLE trial (
    id character varying NOT NULL,
    experiment character varying NOT NULL,
    cell integer NOT NULL,
    sample integer NOT NULL,
    wave integer NOT NULL,
    "position" integer NOT NULL,
    accepted character varying
);
CREATE TABLE wave (
    id integer NOT NULL,
    experiment character varying NOT NULL,
    number integer NOT NULL,
    levels character varying NOT NULL
);
CREATE SEQUENCE wave_id_seq
    AS integer
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE wave_id_seq OWNED BY wave.id;
ALTER TABLE ONLY band ALTER COLUMN id SET DEFAULT nextval('band_id_seq'::regclass);
ALTER TABLE ONLY cell ALTER COLUMN id SET DEFAULT nextval('cell_id_seq'::regclass);
ALTER TABLE ONLY entry ALTER COLUMN id SET DEFAULT nextval('entry_id_seq'::regclass);
ALTER TABLE ONLY event ALTER COLUMN id SET DEFAULT nextval('event_id_seq'::regclass);
ALTER TABLE ONLY source ALTER COLUMN id SET DEFAULT nextval('source_id_seq'::regclass);
ALTER TABLE ONLY task ALTER COLUMN id SET DEFAULT nextval('task_id_seq'::regclass);
ALTER TABLE ONLY wave ALTER COLUMN id SET DEFAULT nextval('wave_id_seq'::regclass);
INSERT INTO alembic_version (version_num) VALUES ('0001');
INSERT INTO attempt (id, experiment, trial, number, node, state, placed_at, ended_at, verdict, cause, oom, reward, rule, detail, rules_version, record) VALUES ('c.1', 'small', 'c', 1, 'local', 'placed', 1770000000, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO attempt (id, experiment, trial, number, node, state, placed_at, ended_at, verdict, cause, oom, reward, rule, detail, rules_version, record) VALUES ('a.1', 'small', 'a', 1, 'local', 'ended', 1770000000, 2, 'passed', '', NULL, 1, 'solved', '', 1, '{"version":1,"attempt_id":"a.1","trial_id":"a","experiment":"small","number":1,"evidence":{"node_seen":"yes","cancelled":"","fault":null,"phases":[{"name":"setup","exit_code":0,"timed_out":false,"wall_s":0.0,"oom_kills":0,"left_behind":0,"lost":"","counters":null},{"name":"agent","exit_code":0,"timed_out":false,"wall_s":0.0,"oom_kills":0,"left_behind":0,"lost":"","counters":null},{"name":"verifier","exit_code":0,"timed_out":false,"wall_s":0.0,"oom_kills":0,"left_behind":0,"lost":"","counters":null}],"reward":1.0,"rewards":{},"reward_fault":"","answered":"unknown","agent_fault":"","harness_fault":"","teardown_fault":"","storage_exceeded":"unknown","deadline_exceeded":false,"enforcement":""},"conditions":{"node":"local","node_profile":"p1","runtime":"process","network":"none","requested":{"memory_floor_bytes":null,"memory_ceiling_bytes":null,"cpu_floor":null,"cpu_ceiling":null,"storage_floor_bytes":null,"storage_ceiling_bytes":null,"swap_bytes":0,"oom_scope":"process","pids":4096},"effective":null,"slots":2,"co_running_start":null,"co_running_peak":null,"co_running_end":null,"load_start":null,"load_end":null,"hour_utc":3,"weekday":1,"agent_timeout_s":null,"time_limit":null},"usage":{"counters":null,"agent_cpu_s":null,"verifier_cpu_s":null,"overhead_cpu_s":null,"api_calls":null,"input_tokens":null,"output_tokens":null,"cost_usd":null},"clocks":{"queued_at":null,"placed_at":null,"received_at":1.0,"prepare_s":0.0,"start_s":0.0,"setup_s":0.0,"agent_s":0.0,"api_wait_s":null,"working_s":null,"verifier_s":0.0,"stop_s":0.0,"ended_at":2.0},"logs":{"agent":{"tail":"","total_bytes":0,"truncated":false},"verifier":{"tail":"","total_bytes":0,"truncated":false}},"artefacts":[],"image_id":"","worker_version":"0.1.0","origin":null}');
INSERT INTO attempt (id, experiment, trial, number, node, state, placed_at, ended_at, verdict, cause, oom, reward, rule, detail, rules_version, record) VALUES ('b.1', 'small', 'b', 1, 'local', 'ended', 1770000000, 2, 'infra_error', 'oom_killed', 'main', 0, 'killed at its ceiling', '1 OOM kill(s) before the verifier, 0 during it', 1, '{"version":1,"attempt_id":"b.1","trial_id":"b","experiment":"small","number":1,"evidence":{"node_seen":"yes","cancelled":"","fault":null,"phases":[{"name":"agent","exit_code":137,"timed_out":false,"wall_s":0.0,"oom_kills":1,"left_behind":0,"lost":"","counters":null}],"reward":null,"rewards":{},"reward_fault":"","answered":"unknown","agent_fault":"","harness_fault":"","teardown_fault":"","storage_exceeded":"unknown","deadline_exceeded":false,"enforcement":""},"conditions":{"node":"local","node_profile":"p1","runtime":"process","network":"none","requested":{"memory_floor_bytes":null,"memory_ceiling_bytes":null,"cpu_floor":null,"cpu_ceiling":null,"storage_floor_bytes":null,"storage_ceiling_bytes":null,"swap_bytes":0,"oom_scope":"process","pids":4096},"effective":null,"slots":2,"co_running_start":null,"co_running_peak":null,"co_running_end":null,"load_start":null,"load_end":null,"hour_utc":3,"weekday":1,"agent_timeout_s":null,"time_limit":null},"usage":{"counters":null,"agent_cpu_s":null,"verifier_cpu_s":null,"overhead_cpu_s":null,"api_calls":null,"input_tokens":null,"output_tokens":null,"cost_usd":null},"clocks":{"queued_at":null,"placed_at":null,"received_at":1.0,"prepare_s":0.0,"start_s":0.0,"setup_s":0.0,"agent_s":0.0,"api_wait_s":null,"working_s":null,"verifier_s":0.0,"stop_s":0.0,"ended_at":2.0},"logs":{"agent":{"tail":"","total_bytes":0,"truncated":false},"verifier":{"tail":"","total_bytes":0,"truncated":false}},"artefacts":[],"image_id":"","worker_version":"0.1.0","origin":null}');
INSERT INTO band (id, experiment, name, place, document) VALUES (1, 'small', '1x', 0, '{"name":"1x","memory":{"floor":1.0,"ceiling":1.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO band (id, experiment, name, place, document) VALUES (2, 'small', '1.5x', 1, '{"name":"1.5x","memory":{"floor":1.0,"ceiling":1.5},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO band (id, experiment, name, place, document) VALUES (3, 'small', '2x', 2, '{"name":"2x","memory":{"floor":1.0,"ceiling":2.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO band (id, experiment, name, place, document) VALUES (4, 'small', '3x', 3, '{"name":"3x","memory":{"floor":1.0,"ceiling":3.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO band (id, experiment, name, place, document) VALUES (5, 'small', '5x', 4, '{"name":"5x","memory":{"floor":1.0,"ceiling":5.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO band (id, experiment, name, place, document) VALUES (6, 'small', 'uncapped', 5, '{"name":"uncapped","memory":{"floor":1.0,"ceiling":"uncapped"},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO cell (id, experiment, key, task, entry, band, levels, planned, n, passed, infra_errors, collateral, reward_sum, reward_sumsq) VALUES (3, 'small', 'suite/one|lean|2x', 'suite/one', 'lean', '2x', '[]', 1, 0, 0, 0, 0, 0, 0);
INSERT INTO cell (id, experiment, key, task, entry, band, levels, planned, n, passed, infra_errors, collateral, reward_sum, reward_sumsq) VALUES (4, 'small', 'suite/one|lean|3x', 'suite/one', 'lean', '3x', '[]', 1, 0, 0, 0, 0, 0, 0);
INSERT INTO cell (id, experiment, key, task, entry, band, levels, planned, n, passed, infra_errors, collateral, reward_sum, reward_sumsq) VALUES (2, 'small', 'suite/one|lean|1.5x', 'suite/one', 'lean', '1.5x', '[]', 1, 1, 0, 1, 0, 0, 0);
INSERT INTO cell (id, experiment, key, task, entry, band, levels, planned, n, passed, infra_errors, collateral, reward_sum, reward_sumsq) VALUES (1, 'small', 'suite/one|lean|1x', 'suite/one', 'lean', '1x', '[]', 1, 1, 1, 0, 0, 1, 1);
INSERT INTO entry (id, experiment, name, agent, model, document) VALUES (1, 'small', 'lean', 'policy', 'lean', '{"agent":"policy","model":"lean","name":"lean","command":null,"env":{},"options":{}}');
INSERT INTO event (id, experiment, at, kind, subject, document) VALUES (1, 'small', 1770000000, 'started', 'it''s a run; of 1 "trial"', '{}');
INSERT INTO experiment (name, created_at, fingerprint, document, tasks_left_out, state, weight, blobs, version) VALUES ('small', 1770000000, '24986a346e4702f1e564b01c14394874879c9bb530eee62dc3695029efe668af', '{"name":"small","tasks":["any"],"exclude":[],"samples":1,"seed":20260205,"bands":[{"name":"1x","memory":{"floor":1.0,"ceiling":1.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"1.5x","memory":{"floor":1.0,"ceiling":1.5},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"2x","memory":{"floor":1.0,"ceiling":2.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"3x","memory":{"floor":1.0,"ceiling":3.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"5x","memory":{"floor":1.0,"ceiling":5.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"uncapped","memory":{"floor":1.0,"ceiling":"uncapped"},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}],"entries":[{"agent":"policy","model":"lean","name":"lean","command":null,"env":{},"options":{}}],"factors":{"concurrency":[],"time_limit":[]},"pods":{"runtime":"process","network":"public","default_spec":null,"build_network":null,"images":"named","after_agent":"stop"},"run":{"max_attempts":1,"default_agent_timeout_s":3600.0}}', '["suite/two: no verifier"]', 'active', 1, '', '0.1.0');
INSERT INTO leader (id, fence) VALUES (1, 7);
INSERT INTO node (id, profile, seen_at) VALUES ('local', 'p1', 1770000000);
INSERT INTO node_profile (hash, first_seen_at, document) VALUES ('p1', 1770000000, '{}');
INSERT INTO source (id, experiment, kind, path, content_hash, imported_at, document) VALUES (1, 'small', 'harbor', 'jobs/a', '1', 1770000000, '{"kind":"harbor","path":"jobs/a","content_hash":"1","harness":"Harbor","files":1,"trials":1,"copies":0,"modes_version":1,"overrides":"","modes":[],"unrecorded":[],"totals":[],"faults":[]}');
INSERT INTO task (id, experiment, name, content_hash, document) VALUES (1, 'small', 'suite/one', 'c1', '{"name":"suite/one","title":"One","directory":"/tasks/one","content_hash":"c1","environment_hash":"e1","spec":{"cpus":1.0,"memory_mib":64.0,"storage_mib":256.0,"gpus":0,"agent_timeout_s":30.0,"verifier_timeout_s":600.0,"build_timeout_s":600.0},"schema_version":null,"image":null,"has_dockerfile":false,"has_solution":false,"has_instruction":true,"multi_container":false,"relocatable":false,"os":"linux","workdir":null,"env":{},"verifier_env":{},"solution_env":{},"unresolved":[],"agent_user":null,"verifier_user":null,"separate_verifier":false,"network_mode":"public","allowed_hosts":[],"gpu_types":[],"healthcheck":null,"mcp_servers":[],"skills_dir":null,"artifacts":[],"steps":[],"step_reward":null,"metadata":{},"unknown":[],"warnings":[]}');
INSERT INTO trial (id, experiment, cell, sample, wave, "position", accepted) VALUES ('c', 'small', 3, 0, 0, 2, NULL);
INSERT INTO trial (id, experiment, cell, sample, wave, "position", accepted) VALUES ('d', 'small', 4, 0, 0, 3, NULL);
INSERT INTO trial (id, experiment, cell, sample, wave, "position", accepted) VALUES ('b', 'small', 2, 0, 0, 1, 'b.1');
INSERT INTO trial (id, experiment, cell, sample, wave, "position", accepted) VALUES ('a', 'small', 1, 0, 0, 0, 'a.1');
INSERT INTO wave (id, experiment, number, levels) VALUES (1, 'small', 0, '[]');
SELECT setval('band_id_seq', 6, true);
SELECT setval('cell_id_seq', 4, true);
SELECT setval('entry_id_seq', 1, true);
SELECT setval('event_id_seq', 1, true);
SELECT setval('source_id_seq', 1, true);
SELECT setval('task_id_seq', 1, true);
SELECT setval('wave_id_seq', 1, true);
ALTER TABLE ONLY alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY attempt
    ADD CONSTRAINT attempt_pkey PRIMARY KEY (id);
ALTER TABLE ONLY attempt
    ADD CONSTRAINT attempt_trial_number_unique UNIQUE (trial, number);
ALTER TABLE ONLY band
    ADD CONSTRAINT band_experiment_name_unique UNIQUE (experiment, name);
ALTER TABLE ONLY band
    ADD CONSTRAINT band_pkey PRIMARY KEY (id);
ALTER TABLE ONLY cell
    ADD CONSTRAINT cell_experiment_key_unique UNIQUE (experiment, key);
ALTER TABLE ONLY cell
    ADD CONSTRAINT cell_pkey PRIMARY KEY (id);
ALTER TABLE ONLY entry
    ADD CONSTRAINT entry_experiment_name_unique UNIQUE (experiment, name);
ALTER TABLE ONLY entry
    ADD CONSTRAINT entry_pkey PRIMARY KEY (id);
ALTER TABLE ONLY event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);
ALTER TABLE ONLY experiment
    ADD CONSTRAINT experiment_pkey PRIMARY KEY (name);
ALTER TABLE ONLY leader
    ADD CONSTRAINT leader_pkey PRIMARY KEY (id);
ALTER TABLE ONLY node
    ADD CONSTRAINT node_pkey PRIMARY KEY (id);
ALTER TABLE ONLY node_profile
    ADD CONSTRAINT node_profile_pkey PRIMARY KEY (hash);
ALTER TABLE ONLY source
    ADD CONSTRAINT source_experiment_kind_path_unique UNIQUE (experiment, kind, path);
ALTER TABLE ONLY source
    ADD CONSTRAINT source_pkey PRIMARY KEY (id);
ALTER TABLE ONLY task
    ADD CONSTRAINT task_experiment_name_unique UNIQUE (experiment, name);
ALTER TABLE ONLY task
    ADD CONSTRAINT task_pkey PRIMARY KEY (id);
ALTER TABLE ONLY trial
    ADD CONSTRAINT trial_pkey PRIMARY KEY (id);
ALTER TABLE ONLY wave
    ADD CONSTRAINT wave_experiment_number_unique UNIQUE (experiment, number);
ALTER TABLE ONLY wave
    ADD CONSTRAINT wave_pkey PRIMARY KEY (id);
CREATE INDEX attempt_experiment_index ON attempt USING btree (experiment);
CREATE INDEX attempt_under_way ON attempt USING btree (experiment) WHERE ((state)::text = 'placed'::text);
CREATE INDEX event_experiment_index ON event USING btree (experiment);
CREATE INDEX experiment_state_index ON experiment USING btree (state);
CREATE INDEX trial_cell_index ON trial USING btree (cell);
CREATE INDEX trial_owed ON trial USING btree (experiment, "position") WHERE (accepted IS NULL);
ALTER TABLE ONLY attempt
    ADD CONSTRAINT attempt_experiment_fkey FOREIGN KEY (experiment) REFERENCES experiment(name);
ALTER TABLE ONLY attempt
    ADD CONSTRAINT attempt_trial_fkey FOREIGN KEY (trial) REFERENCES trial(id);
ALTER TABLE ONLY band
    ADD CONSTRAINT band_experiment_fkey FOREIGN KEY (experiment) REFERENCES experiment(name);
ALTER TABLE ONLY cell
    ADD CONSTRAINT cell_experiment_fkey FOREIGN KEY (experiment) REFERENCES experiment(name);
ALTER TABLE ONLY entry
    ADD CONSTRAINT entry_experiment_fkey FOREIGN KEY (experiment) REFERENCES experiment(name);
ALTER TABLE ONLY node
    ADD CONSTRAINT node_profile_fkey FOREIGN KEY (profile) REFERENCES node_profile(hash);
ALTER TABLE ONLY source
    ADD CONSTRAINT source_experiment_fkey FOREIGN KEY (experiment) REFERENCES experiment(name);
ALTER TABLE ONLY task
    ADD CONSTRAINT task_experiment_fkey FOREIGN KEY (experiment) REFERENCES experiment(name);
ALTER TABLE ONLY trial
    ADD CONSTRAINT trial_cell_fkey FOREIGN KEY (cell) REFERENCES cell(id);
ALTER TABLE ONLY trial
    ADD CONSTRAINT trial_experiment_fkey FOREIGN KEY (experiment) REFERENCES experiment(name);
ALTER TABLE ONLY wave
    ADD CONSTRAINT wave_experiment_fkey FOREIGN KEY (experiment) REFERENCES experiment(name);
