import type { Encoding } from '../../editor/values.ts'

/** Built-in types by their OID in `pg_type`, which is fixed. */
export const TYPES: Readonly<Record<number, readonly [dataType: string, encoding: Encoding]>> = {
  16: ['bool', 'boolean'],
  17: ['bytea', 'binary'],
  20: ['int8', 'bigint'],
  21: ['int2', 'integer'],
  23: ['int4', 'integer'],
  25: ['text', 'text'],
  26: ['oid', 'bigint'],
  114: ['json', 'json'],
  700: ['float4', 'float'],
  701: ['float8', 'float'],
  790: ['money', 'text'],
  1042: ['bpchar', 'text'],
  1043: ['varchar', 'text'],
  1082: ['date', 'date'],
  1083: ['time', 'time'],
  1114: ['timestamp', 'dateTime'],
  1184: ['timestamptz', 'dateTimeOffset'],
  1186: ['interval', 'text'],
  1266: ['timetz', 'text'],
  1700: ['numeric', 'decimal'],
  2950: ['uuid', 'uuid'],
  3802: ['jsonb', 'json'],
}
