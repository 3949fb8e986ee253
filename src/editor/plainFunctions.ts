/** Built-in functions that depend only on their arguments, the clock, randomness and sequences. */
const PLAIN = new Set(
  `abs ceil ceiling floor greatest least mod pow power rand random round sign sqrt trunc truncate
  char_length character_length concat concat_ws format initcap lcase left len length lower lpad ltrim octet_length
  regexp_replace repeat replace replicate reverse right rpad rtrim space string_agg substr substring trim ucase upper
  encode decode from_base64 to_base64 hex unhex hashbytes md5 sha sha1 sha2 sha224 sha256 sha384 sha512 crc32 compress
  gen_random_uuid uuid uuid_generate_v4 uuidv4 uuidv7 newid newsequentialid nextval setval
  cast coalesce convert ifnull isnull iif if nullif try_cast try_convert
  clock_timestamp statement_timestamp transaction_timestamp now current_timestamp current_date current_time localtime
  localtimestamp curdate curtime sysdate utc_date utc_time utc_timestamp getdate getutcdate sysdatetime sysutcdatetime
  sysdatetimeoffset timezone age date date_add date_part date_sub date_trunc dateadd datefromparts from_unixtime
  make_date make_interval make_time make_timestamp make_timestamptz str_to_date timestampadd to_date to_timestamp
  unix_timestamp to_char to_number
  array_append array_cat array_to_json json_array json_build_array json_build_object json_object json_query json_quote
  json_value jsonb_build_array jsonb_build_object jsonb_set row_to_json to_json to_jsonb to_tsquery to_tsvector
  inet_aton inet6_aton inet_ntoa inet6_ntoa st_geomfromtext st_makepoint st_setsrid point`
    .trim()
    .split(/\s+/),
)

/** Whether a function may read stored data. User-defined functions may, even under the name of a built-in one. */
export function mayReadStoredData(name: string, schema?: string): boolean {
  return (schema !== undefined && schema.toLowerCase() !== 'pg_catalog') || !PLAIN.has(name.toLowerCase())
}
