"""What a database can do besides reading its tables, in its own words, and where in a statement each may stand."""

from __future__ import annotations

from typing import Final

__all__ = ["AROUND_TABLES", "AROUND_VALUES", "CALLS", "TABLES", "WHOLE"]

CALLS: Final = {
    "postgresql": [
        *("pg_read_file('/etc/passwd')", "pg_read_binary_file('x')", "pg_ls_dir('/')", "pg_stat_file('x')"),
        *("lo_import('/etc/passwd')", "lo_export(1, '/tmp/x')", "lo_unlink(1)", "lo_put(1, 0, 'x')", "lo_create(0)"),
        *("dblink('x', 'y')", "dblink_exec('x', 'y')", "dblink_connect('x')", "dblink_send_query('x', 'y')"),
        *("pg_sleep(9)", "pg_sleep_for('9 minutes')", "pg_sleep_until('tomorrow')", "pg_notify('x', 'y')"),
        *("nextval('s')", "setval('s', 1)", "currval('s')", "lastval()", "set_config('x', 'y', false)"),
        *("pg_terminate_backend(1)", "pg_cancel_backend(1)", "pg_reload_conf()", "pg_rotate_logfile()"),
        *("pg_switch_wal()", "pg_promote()", "pg_advisory_lock(1)", "pg_try_advisory_lock(1)", "txid_current()"),
        *("pg_create_restore_point('x')", "pg_logical_emit_message(true, 'x', 'y')", "pg_drop_replication_slot('x')"),
        *("query_to_xml('DELETE FROM t', true, true, '')", "table_to_xml('t', true, true, '')"),
        *("database_to_xml(true, true, '')", "cursor_to_xml('x', 1, true, true, '')", "ts_stat('SELECT 1')"),
        *("current_setting('x')", "has_table_privilege('t', 'x')", "to_regclass('t')", "pg_get_viewdef('t')"),
        *("xpath_table('a', 'b', 'c', 'd', 'e')", "crosstab('SELECT 1')", "brin_summarize_new_values('x')"),
        *("'secrets'::regclass", "CAST('x' AS regproc)", "version()", "random()", "gen_random_uuid()", "own(1)"),
    ],
    "mysql": [
        *("load_file('/etc/passwd')", "sleep(9)", "benchmark(1000000, md5('x'))", "get_lock('x', 9)"),
        *("release_lock('x')", "release_all_locks()", "master_pos_wait('x', 1)", "source_pos_wait('x', 1)"),
        *("wait_for_executed_gtid_set('x')", "last_insert_id(5)", "sys_exec('x')", "sys_eval('x')", "@x := 1", "@x"),
        *("@@global.read_only", "@@version", "uuid()", "rand()", "row_count()", "found_rows()", "connection_id()"),
        *("extractvalue(1, 'x')", "updatexml(1, 'x', 1)", "name_const('x', 1)", "nextval(s)", "NEXT VALUE FOR s"),
        *("setval(s, 1)", "load_file(0x2f)", "own(1)", "group_replication_set_as_primary('x')", "is_free_lock('x')"),
    ],
    "sqlite": [
        *("load_extension('x')", "load_extension('x', 'y')", "writefile('x', 'y')", "readfile('x')", "edit('x')"),
        *("zeroblob(1000000000)", "randomblob(1000000000)", "random()", "last_insert_rowid()", "changes()"),
        *("fts3_tokenizer('x', 'y')", "sqlite_compileoption_get(1)", "printf('%1000000000d', 1)", "own(1)"),
        *("format('%1000000000d', 1)", "total_changes()", "sqlite_version()", "RAISE(ABORT, 'x')", "char(1)"),
        *("eval('DELETE FROM t')", "sqlar_compress('x')", "a IN secrets", "shell_escape('x')", "lsmode('x')"),
    ],
    "mssql": [
        *("NEXT VALUE FOR s", "NEXT VALUE FOR dbo.s", "newid()", "newsequentialid()", "host_name()", "suser_sname()"),
        *("@@version", "@x", "dbo.own(1)", "own(1)", "xp_cmdshell('x')", "scope_identity()", "db_name()"),
        *("object_id('t')", "object_definition(1)", "is_srvrolemember('x')", "fn_get_sql(1)", "app_name()"),
        *("sessionproperty('x')", "serverproperty('x')", "permissions()", "has_perms_by_name('t', 'x', 'y')"),
        *("decryptbypassphrase('x', 'y')", "certprivatekey(1, 'x')", "rand()", "replicate('x', 1000000)"),
    ],
}
"""What stands where a value may."""

TABLES: Final = {
    "postgresql": [
        *("pg_ls_dir('/')", "dblink('x', 'SELECT 1') AS d(a int)", "LATERAL pg_sleep(9)", "ROWS FROM (pg_ls_dir('/'))"),
        *("generate_series(1, 1000000000)", "pg_read_file('x') AS d", "own(1)", "t TABLESAMPLE SYSTEM (1)"),
        *("(DELETE FROM t RETURNING a) AS d", "xmltable('x' PASSING 'y' COLUMNS a int)", "json_to_recordset('[]')"),
        *("postgres_fdw_get_connections()", "pg_logical_slot_get_changes('x', NULL, NULL)", "ts_stat('SELECT 1')"),
    ],
    "mysql": [
        *("t FOR UPDATE", "t LOCK IN SHARE MODE", "t INTO OUTFILE '/tmp/x'", "t INTO DUMPFILE '/tmp/x'", "t INTO @x"),
        *("t PARTITION (p)", "t PROCEDURE ANALYSE()", "JSON_TABLE('[]', '$' COLUMNS (a INT PATH '$')) AS d"),
        *("t USE INDEX (i)", "t FOR SHARE", "t FOR UPDATE SKIP LOCKED"),
    ],
    "sqlite": [
        *("pragma_table_info('t')", "pragma_database_list()", "fsdir('/')", "generate_series(1, 1000000000)"),
        *("json_each('[]')", "csv('x')", "zipfile('x')", "dbstat('x')", "t INDEXED BY i"),
        *("completion('x')", "sqlite_dbpage('x')", "wholenumber('x')", "'/etc/passwd'"),
    ],
    "mssql": [
        *("OPENROWSET('x', 'y', 'z') AS d", "OPENQUERY(x, 'DELETE FROM t') AS d", "OPENDATASOURCE('x', 'y').a.b.c"),
        *("OPENROWSET(BULK '/etc/passwd', SINGLE_CLOB) AS d", "OPENXML(1, 'x')", "far.base.dbo.t", "far...t"),
        *("[far].[base].[dbo].[t]", "t WITH (UPDLOCK)", "t WITH (TABLOCKX, HOLDLOCK)", "fn_trace_gettable('x', 1)"),
        *("sys.fn_xe_file_target_read_file('x', NULL, NULL, NULL)", "dbo.own(1)", "CHANGETABLE(CHANGES t, 1) AS d"),
        *("t FOR XML AUTO", "t OPTION (RECOMPILE)", "OPENJSON('[]')", "(DELETE FROM t OUTPUT deleted.a) AS d"),
    ],
}
"""What stands where a table may."""

WHOLE: Final = {
    "postgresql": [
        *(
            "COPY t TO '/tmp/x'",
            "COPY t TO PROGRAM 'sh'",
            "COPY (SELECT 1) TO PROGRAM 'sh'",
            "COPY t FROM PROGRAM 'sh'",
        ),
        *("SELECT a INTO u FROM t", "SELECT a INTO TEMP u FROM t", "CREATE TABLE u AS SELECT a FROM t"),
        *("SELECT a FROM t FOR UPDATE", "SELECT a FROM t FOR NO KEY UPDATE NOWAIT", "SELECT a FROM t FOR KEY SHARE"),
        *("EXPLAIN ANALYZE DELETE FROM t", "EXPLAIN (ANALYZE) UPDATE t SET a = 1", "EXPLAIN SELECT 1", "DO 'x'"),
        *("WITH x AS (DELETE FROM t RETURNING a) SELECT a FROM x", "WITH x AS (UPDATE t SET a = 1) SELECT 1"),
        *("WITH x AS (INSERT INTO t VALUES (1) RETURNING a) SELECT a FROM x", "REFRESH MATERIALIZED VIEW v"),
        *("SET ROLE x", "SET x = 1", "RESET ALL", "LISTEN x", "NOTIFY x", "LOAD 'x'", "LOCK TABLE t", "DISCARD ALL"),
        *("PREPARE x AS DELETE FROM t", "EXECUTE x", "DEALLOCATE x", "DECLARE x CURSOR FOR SELECT 1", "FETCH x"),
        *(
            "VACUUM",
            "ANALYZE t",
            "CLUSTER t",
            "REINDEX TABLE t",
            "CHECKPOINT",
            "CREATE EXTENSION x",
            "SECURITY LABEL ON x",
        ),
        *(
            "SELECT 1; DELETE FROM t",
            "BEGIN; DELETE FROM t; COMMIT",
            "VALUES (pg_sleep(9))",
            "SHOW ALL",
            "TABLE t; VACUUM",
        ),
    ],
    "mysql": [
        *("SELECT a INTO OUTFILE '/tmp/x' FROM t", "SELECT a INTO DUMPFILE '/tmp/x' FROM t", "SELECT a INTO @x FROM t"),
        *("SELECT a FROM t FOR UPDATE", "SELECT a FROM t LOCK IN SHARE MODE", "SELECT HIGH_PRIORITY a FROM t"),
        *("LOAD DATA INFILE '/etc/passwd' INTO TABLE t", "HANDLER t OPEN", "DO sleep(9)", "CALL own()", "KILL 1"),
        *(
            "SET GLOBAL x = 1",
            "SET @x = 1",
            "FLUSH TABLES",
            "RESET MASTER",
            "EXPLAIN ANALYZE DELETE FROM t",
            "SHOW TABLES",
        ),
        *("EXPLAIN ANALYZE SELECT a FROM t", "DESCRIBE t", "REPLACE INTO t VALUES (1)", "INSTALL PLUGIN x SONAME 'y'"),
        *(
            "CREATE TABLE u SELECT a FROM t",
            "PREPARE x FROM 'DELETE FROM t'",
            "EXECUTE x",
            "LOCK TABLES t WRITE",
            "USE x",
        ),
        *(
            "SELECT 1 /*! INTO OUTFILE '/tmp/x' */",
            "SELECT /*!50000 sleep(9) */ 1",
            "/*! DELETE FROM t */",
            "XA BEGIN 'x'",
        ),
        *(
            "IMPORT TABLE FROM 'x'",
            "SELECT 1; DELETE FROM t",
            "RENAME TABLE t TO u",
            "OPTIMIZE TABLE t",
            "ANALYZE TABLE t",
        ),
    ],
    "sqlite": [
        *("PRAGMA user_version = 1", "PRAGMA writable_schema = ON", "PRAGMA table_info(t)", "PRAGMA user_version"),
        *("ATTACH DATABASE '/tmp/x' AS y", "ATTACH '/tmp/x' AS y", "DETACH y", "VACUUM INTO '/tmp/x'", "VACUUM"),
        *("REPLACE INTO t VALUES (1)", "INSERT OR REPLACE INTO t VALUES (1)", "WITH x AS (SELECT 1) DELETE FROM t"),
        *("WITH x AS (SELECT 1) INSERT INTO t SELECT 1 FROM x", "CREATE TEMP TABLE u AS SELECT a FROM t", "ANALYZE"),
        *("CREATE VIRTUAL TABLE u USING csv(filename='x')", "REINDEX", "SAVEPOINT x", "RELEASE x", "EXPLAIN SELECT 1"),
        *(
            "EXPLAIN QUERY PLAN SELECT 1",
            "DELETE FROM t RETURNING a",
            "SELECT 1; ATTACH 'x' AS y",
            ".shell ls",
            ".read x",
        ),
        *("DROP VIEW v", "CREATE TRIGGER x AFTER INSERT ON t BEGIN SELECT 1; END", "UPDATE t SET a = 1 RETURNING a"),
    ],
    "mssql": [
        *("EXEC xp_cmdshell 'dir'", "EXECUTE master..xp_cmdshell 'dir'", "xp_cmdshell 'dir'", "EXEC('DELETE FROM t')"),
        *("EXEC sp_executesql N'DELETE FROM t'", "sp_configure 'x', 1", "EXEC sp_OACreate 'x', 1", "RECONFIGURE"),
        *("SELECT a INTO u FROM t", "SELECT a INTO #u FROM t", "BULK INSERT t FROM '/tmp/x'", "WAITFOR DELAY '0:0:9'"),
        *("SELECT 1 WAITFOR DELAY '0:0:9'", "SELECT 1 DELETE FROM t", "SELECT 1 EXEC xp_cmdshell 'x'", "USE x", "GO"),
        *("WITH x AS (SELECT a FROM t) DELETE FROM x", "WITH x AS (SELECT a FROM t) UPDATE x SET a = 1", "KILL 1"),
        *("DECLARE @x INT", "SET @x = 1", "SELECT @x = 1", "BACKUP DATABASE x TO DISK = 'y'", "SHUTDOWN", "DBCC x"),
        *("MERGE t USING u ON t.a = u.a WHEN MATCHED THEN DELETE", "TRUNCATE TABLE t", "DENY SELECT ON t TO x"),
        *("RESTORE DATABASE x FROM DISK = 'y'", "OPENROWSET('x', 'y', 'z')", "REVERT", "EXECUTE AS USER = 'x'"),
        *("DELETE FROM t OUTPUT deleted.a", "SELECT a FROM t FOR XML AUTO", "RAISERROR('x', 20, 1) WITH LOG"),
    ],
}
"""What stands by itself."""

AROUND_VALUES: Final = [
    "SELECT {}",
    "SELECT {} AS x FROM t",
    "SELECT a FROM t WHERE {} IS NOT NULL",
    "SELECT a FROM t WHERE a = 1 OR a IN ({})",
    "SELECT a FROM t GROUP BY a HAVING max({}) IS NULL",
    "SELECT a FROM (SELECT {} AS a FROM t) AS x",
    "WITH x AS (SELECT {} AS a) SELECT a FROM x",
    "SELECT a FROM t UNION ALL SELECT {} FROM t",
    "SELECT CASE WHEN a = 1 THEN {} ELSE 0 END FROM t",
    "SELECT coalesce(NULL, {}) FROM t",
    "SELECT a FROM t JOIN u ON t.a = ({})",
    "SELECT (SELECT {}) FROM t",
    "SELECT a FROM t WHERE EXISTS (SELECT {} FROM u)",
    "SELECT lower({}) FROM t",
]
AROUND_TABLES: Final = [
    "SELECT * FROM {}",
    "SELECT a FROM u, {}",
    "SELECT a FROM u CROSS JOIN {}",
    "SELECT a FROM (SELECT * FROM {}) AS x",
    "WITH x AS (SELECT * FROM {}) SELECT a FROM x",
    "SELECT a FROM u WHERE EXISTS (SELECT * FROM {})",
    "SELECT a FROM u UNION SELECT a FROM {}",
]
