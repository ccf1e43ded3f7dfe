-- A store of the first release (SQLite), with a few rows. Frozen: later releases must read it.
BEGIN TRANSACTION;
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0001');
CREATE TABLE attempt (
	id VARCHAR NOT NULL, 
	experiment VARCHAR NOT NULL, 
	trial VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	node VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	placed_at FLOAT, 
	ended_at FLOAT, 
	verdict VARCHAR, 
	cause VARCHAR, 
	oom VARCHAR, 
	reward FLOAT, 
	rule VARCHAR, 
	detail VARCHAR, 
	rules_version INTEGER, 
	record VARCHAR, 
	CONSTRAINT attempt_pkey PRIMARY KEY (id), 
	CONSTRAINT attempt_trial_number_unique UNIQUE (trial, number), 
	CONSTRAINT attempt_experiment_fkey FOREIGN KEY(experiment) REFERENCES experiment (name), 
	CONSTRAINT attempt_trial_fkey FOREIGN KEY(trial) REFERENCES trial (id)
);
INSERT INTO "attempt" VALUES('a.1','small','a',1,'local','ended',1770000000.0,2.0,'passed','',NULL,1.0,'solved','',1,'{"version":1,"attempt_id":"a.1","trial_id":"a","experiment":"small","number":1,"evidence":{"node_seen":"yes","cancelled":"","fault":null,"phases":[{"name":"setup","exit_code":0,"timed_out":false,"wall_s":0.0,"oom_kills":0,"left_behind":0,"lost":"","counters":null},{"name":"agent","exit_code":0,"timed_out":false,"wall_s":0.0,"oom_kills":0,"left_behind":0,"lost":"","counters":null},{"name":"verifier","exit_code":0,"timed_out":false,"wall_s":0.0,"oom_kills":0,"left_behind":0,"lost":"","counters":null}],"reward":1.0,"rewards":{},"reward_fault":"","answered":"unknown","agent_fault":"","harness_fault":"","teardown_fault":"","storage_exceeded":"unknown","deadline_exceeded":false,"enforcement":""},"conditions":{"node":"local","node_profile":"p1","runtime":"process","network":"none","requested":{"memory_floor_bytes":null,"memory_ceiling_bytes":null,"cpu_floor":null,"cpu_ceiling":null,"storage_floor_bytes":null,"storage_ceiling_bytes":null,"swap_bytes":0,"oom_scope":"process","pids":4096},"effective":null,"slots":2,"co_running_start":null,"co_running_peak":null,"co_running_end":null,"load_start":null,"load_end":null,"hour_utc":3,"weekday":1,"agent_timeout_s":null,"time_limit":null},"usage":{"counters":null,"agent_cpu_s":null,"verifier_cpu_s":null,"overhead_cpu_s":null,"api_calls":null,"input_tokens":null,"output_tokens":null,"cost_usd":null},"clocks":{"queued_at":null,"placed_at":null,"received_at":1.0,"prepare_s":0.0,"start_s":0.0,"setup_s":0.0,"agent_s":0.0,"api_wait_s":null,"working_s":null,"verifier_s":0.0,"stop_s":0.0,"ended_at":2.0},"logs":{"agent":{"tail":"","total_bytes":0,"truncated":false},"verifier":{"tail":"","total_bytes":0,"truncated":false}},"artefacts":[],"image_id":"","worker_version":"0.1.0","origin":null}');
INSERT INTO "attempt" VALUES('b.1','small','b',1,'local','ended',1770000000.0,2.0,'infra_error','oom_killed','main',0.0,'killed at its ceiling','1 OOM kill(s) before the verifier, 0 during it',1,'{"version":1,"attempt_id":"b.1","trial_id":"b","experiment":"small","number":1,"evidence":{"node_seen":"yes","cancelled":"","fault":null,"phases":[{"name":"agent","exit_code":137,"timed_out":false,"wall_s":0.0,"oom_kills":1,"left_behind":0,"lost":"","counters":null}],"reward":null,"rewards":{},"reward_fault":"","answered":"unknown","agent_fault":"","harness_fault":"","teardown_fault":"","storage_exceeded":"unknown","deadline_exceeded":false,"enforcement":""},"conditions":{"node":"local","node_profile":"p1","runtime":"process","network":"none","requested":{"memory_floor_bytes":null,"memory_ceiling_bytes":null,"cpu_floor":null,"cpu_ceiling":null,"storage_floor_bytes":null,"storage_ceiling_bytes":null,"swap_bytes":0,"oom_scope":"process","pids":4096},"effective":null,"slots":2,"co_running_start":null,"co_running_peak":null,"co_running_end":null,"load_start":null,"load_end":null,"hour_utc":3,"weekday":1,"agent_timeout_s":null,"time_limit":null},"usage":{"counters":null,"agent_cpu_s":null,"verifier_cpu_s":null,"overhead_cpu_s":null,"api_calls":null,"input_tokens":null,"output_tokens":null,"cost_usd":null},"clocks":{"queued_at":null,"placed_at":null,"received_at":1.0,"prepare_s":0.0,"start_s":0.0,"setup_s":0.0,"agent_s":0.0,"api_wait_s":null,"working_s":null,"verifier_s":0.0,"stop_s":0.0,"ended_at":2.0},"logs":{"agent":{"tail":"","total_bytes":0,"truncated":false},"verifier":{"tail":"","total_bytes":0,"truncated":false}},"artefacts":[],"image_id":"","worker_version":"0.1.0","origin":null}');
INSERT INTO "attempt" VALUES('c.1','small','c',1,'local','placed',1770000000.0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE band (
	id INTEGER NOT NULL, 
	experiment VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	place INTEGER NOT NULL, 
	document VARCHAR NOT NULL, 
	CONSTRAINT band_pkey PRIMARY KEY (id), 
	CONSTRAINT band_experiment_name_unique UNIQUE (experiment, name), 
	CONSTRAINT band_experiment_fkey FOREIGN KEY(experiment) REFERENCES experiment (name)
);
INSERT INTO "band" VALUES(1,'small','1x',0,'{"name":"1x","memory":{"floor":1.0,"ceiling":1.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO "band" VALUES(2,'small','1.5x',1,'{"name":"1.5x","memory":{"floor":1.0,"ceiling":1.5},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO "band" VALUES(3,'small','2x',2,'{"name":"2x","memory":{"floor":1.0,"ceiling":2.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO "band" VALUES(4,'small','3x',3,'{"name":"3x","memory":{"floor":1.0,"ceiling":3.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO "band" VALUES(5,'small','5x',4,'{"name":"5x","memory":{"floor":1.0,"ceiling":5.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
INSERT INTO "band" VALUES(6,'small','uncapped',5,'{"name":"uncapped","memory":{"floor":1.0,"ceiling":"uncapped"},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}');
CREATE TABLE cell (
	id INTEGER NOT NULL, 
	experiment VARCHAR NOT NULL, 
	"key" VARCHAR NOT NULL, 
	task VARCHAR NOT NULL, 
	entry VARCHAR NOT NULL, 
	band VARCHAR NOT NULL, 
	levels VARCHAR NOT NULL, 
	planned INTEGER NOT NULL, 
	n INTEGER NOT NULL, 
	passed INTEGER NOT NULL, 
	infra_errors INTEGER NOT NULL, 
	collateral INTEGER NOT NULL, 
	reward_sum FLOAT NOT NULL, 
	reward_sumsq FLOAT NOT NULL, 
	CONSTRAINT cell_pkey PRIMARY KEY (id), 
	CONSTRAINT cell_experiment_key_unique UNIQUE (experiment, "key"), 
	CONSTRAINT cell_experiment_fkey FOREIGN KEY(experiment) REFERENCES experiment (name)
);
INSERT INTO "cell" VALUES(1,'small','suite/one|lean|1x','suite/one','lean','1x','[]',1,1,1,0,0,1.0,1.0);
INSERT INTO "cell" VALUES(2,'small','suite/one|lean|1.5x','suite/one','lean','1.5x','[]',1,1,0,1,0,0.0,0.0);
INSERT INTO "cell" VALUES(3,'small','suite/one|lean|2x','suite/one','lean','2x','[]',1,0,0,0,0,0.0,0.0);
INSERT INTO "cell" VALUES(4,'small','suite/one|lean|3x','suite/one','lean','3x','[]',1,0,0,0,0,0.0,0.0);
CREATE TABLE entry (
	id INTEGER NOT NULL, 
	experiment VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	agent VARCHAR NOT NULL, 
	model VARCHAR NOT NULL, 
	document VARCHAR NOT NULL, 
	CONSTRAINT entry_pkey PRIMARY KEY (id), 
	CONSTRAINT entry_experiment_name_unique UNIQUE (experiment, name), 
	CONSTRAINT entry_experiment_fkey FOREIGN KEY(experiment) REFERENCES experiment (name)
);
INSERT INTO "entry" VALUES(1,'small','lean','policy','lean','{"agent":"policy","model":"lean","name":"lean","command":null,"env":{},"options":{}}');
CREATE TABLE event (
	id INTEGER NOT NULL, 
	experiment VARCHAR NOT NULL, 
	at FLOAT NOT NULL, 
	kind VARCHAR NOT NULL, 
	subject VARCHAR NOT NULL, 
	document VARCHAR NOT NULL, 
	CONSTRAINT event_pkey PRIMARY KEY (id)
);
INSERT INTO "event" VALUES(1,'small',1770000000.0,'started','it''s a run; of 1 "trial"','{}');
CREATE TABLE experiment (
	name VARCHAR NOT NULL, 
	created_at FLOAT NOT NULL, 
	fingerprint VARCHAR NOT NULL, 
	document VARCHAR NOT NULL, 
	tasks_left_out VARCHAR NOT NULL, 
	state VARCHAR NOT NULL, 
	weight FLOAT NOT NULL, 
	blobs VARCHAR NOT NULL, 
	version VARCHAR NOT NULL, 
	CONSTRAINT experiment_pkey PRIMARY KEY (name)
);
INSERT INTO "experiment" VALUES('small',1770000000.0,'24986a346e4702f1e564b01c14394874879c9bb530eee62dc3695029efe668af','{"name":"small","tasks":["any"],"exclude":[],"samples":1,"seed":20260205,"bands":[{"name":"1x","memory":{"floor":1.0,"ceiling":1.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"1.5x","memory":{"floor":1.0,"ceiling":1.5},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"2x","memory":{"floor":1.0,"ceiling":2.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"3x","memory":{"floor":1.0,"ceiling":3.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"5x","memory":{"floor":1.0,"ceiling":5.0},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true},{"name":"uncapped","memory":{"floor":1.0,"ceiling":"uncapped"},"cpu":{"floor":1.0,"ceiling":"uncapped"},"storage":{"floor":null,"ceiling":"uncapped"},"oom_scope":"process","swap":0.0,"stated":true}],"entries":[{"agent":"policy","model":"lean","name":"lean","command":null,"env":{},"options":{}}],"factors":{"concurrency":[],"time_limit":[]},"pods":{"runtime":"process","network":"public","default_spec":null,"build_network":null,"images":"named","after_agent":"stop"},"run":{"max_attempts":1,"default_agent_timeout_s":3600.0}}','["suite/two: no verifier"]','active',1.0,'','0.1.0');
CREATE TABLE leader (
	id INTEGER NOT NULL, 
	fence BIGINT NOT NULL, 
	CONSTRAINT leader_pkey PRIMARY KEY (id)
);
INSERT INTO "leader" VALUES(1,7);
CREATE TABLE node (
	id VARCHAR NOT NULL, 
	profile VARCHAR, 
	seen_at FLOAT NOT NULL, 
	CONSTRAINT node_pkey PRIMARY KEY (id), 
	CONSTRAINT node_profile_fkey FOREIGN KEY(profile) REFERENCES node_profile (hash)
);
INSERT INTO "node" VALUES('local','p1',1770000000.0);
CREATE TABLE node_profile (
	hash VARCHAR NOT NULL, 
	first_seen_at FLOAT NOT NULL, 
	document VARCHAR NOT NULL, 
	CONSTRAINT node_profile_pkey PRIMARY KEY (hash)
);
INSERT INTO "node_profile" VALUES('p1',1770000000.0,'{}');
CREATE TABLE source (
	id INTEGER NOT NULL, 
	experiment VARCHAR NOT NULL, 
	kind VARCHAR NOT NULL, 
	path VARCHAR NOT NULL, 
	content_hash VARCHAR NOT NULL, 
	imported_at FLOAT NOT NULL, 
	document VARCHAR NOT NULL, 
	CONSTRAINT source_pkey PRIMARY KEY (id), 
	CONSTRAINT source_experiment_kind_path_unique UNIQUE (experiment, kind, path), 
	CONSTRAINT source_experiment_fkey FOREIGN KEY(experiment) REFERENCES experiment (name)
);
INSERT INTO "source" VALUES(1,'small','harbor','jobs/a','1',1770000000.0,'{"kind":"harbor","path":"jobs/a","content_hash":"1","harness":"Harbor","files":1,"trials":1,"copies":0,"modes_version":1,"overrides":"","modes":[],"unrecorded":[],"totals":[],"faults":[]}');
CREATE TABLE task (
	id INTEGER NOT NULL, 
	experiment VARCHAR NOT NULL, 
	name VARCHAR NOT NULL, 
	content_hash VARCHAR NOT NULL, 
	document VARCHAR NOT NULL, 
	CONSTRAINT task_pkey PRIMARY KEY (id), 
	CONSTRAINT task_experiment_name_unique UNIQUE (experiment, name), 
	CONSTRAINT task_experiment_fkey FOREIGN KEY(experiment) REFERENCES experiment (name)
);
INSERT INTO "task" VALUES(1,'small','suite/one','c1','{"name":"suite/one","title":"One","directory":"/tasks/one","content_hash":"c1","environment_hash":"e1","spec":{"cpus":1.0,"memory_mib":64.0,"storage_mib":256.0,"gpus":0,"agent_timeout_s":30.0,"verifier_timeout_s":600.0,"build_timeout_s":600.0},"schema_version":null,"image":null,"has_dockerfile":false,"has_solution":false,"has_instruction":true,"multi_container":false,"relocatable":false,"os":"linux","workdir":null,"env":{},"verifier_env":{},"solution_env":{},"unresolved":[],"agent_user":null,"verifier_user":null,"separate_verifier":false,"network_mode":"public","allowed_hosts":[],"gpu_types":[],"healthcheck":null,"mcp_servers":[],"skills_dir":null,"artifacts":[],"steps":[],"step_reward":null,"metadata":{},"unknown":[],"warnings":[]}');
CREATE TABLE trial (
	id VARCHAR NOT NULL, 
	experiment VARCHAR NOT NULL, 
	cell INTEGER NOT NULL, 
	sample INTEGER NOT NULL, 
	wave INTEGER NOT NULL, 
	position INTEGER NOT NULL, 
	accepted VARCHAR, 
	CONSTRAINT trial_pkey PRIMARY KEY (id), 
	CONSTRAINT trial_experiment_fkey FOREIGN KEY(experiment) REFERENCES experiment (name), 
	CONSTRAINT trial_cell_fkey FOREIGN KEY(cell) REFERENCES cell (id)
);
INSERT INTO "trial" VALUES('a','small',1,0,0,0,'a.1');
INSERT INTO "trial" VALUES('b','small',2,0,0,1,'b.1');
INSERT INTO "trial" VALUES('c','small',3,0,0,2,NULL);
INSERT INTO "trial" VALUES('d','small',4,0,0,3,NULL);
CREATE TABLE wave (
	id INTEGER NOT NULL, 
	experiment VARCHAR NOT NULL, 
	number INTEGER NOT NULL, 
	levels VARCHAR NOT NULL, 
	CONSTRAINT wave_pkey PRIMARY KEY (id), 
	CONSTRAINT wave_experiment_number_unique UNIQUE (experiment, number), 
	CONSTRAINT wave_experiment_fkey FOREIGN KEY(experiment) REFERENCES experiment (name)
);
INSERT INTO "wave" VALUES(1,'small',0,'[]');
CREATE INDEX experiment_state_index ON experiment (state);
CREATE INDEX event_experiment_index ON event (experiment);
CREATE INDEX trial_cell_index ON trial (cell);
CREATE INDEX trial_owed ON trial (experiment, position) WHERE accepted IS NULL;
CREATE INDEX attempt_experiment_index ON attempt (experiment);
CREATE INDEX attempt_under_way ON attempt (experiment) WHERE state = 'placed';
COMMIT;
