import { SeededRandom } from '../make/random.ts'

const PIECES = [
  "'",
  '"',
  '`',
  ']',
  '\\',
  '\\\\',
  ';',
  '--',
  '-- ',
  '/*',
  '*/',
  '/*!',
  '#',
  '$$',
  '$1',
  '?',
  '@p',
  ':p',
  '%',
  '_',
  '\n',
  '\t',
  '(',
  ')',
  ',',
  '=',
  ' or 1=1',
  ' union select * from treasure',
  "'; DROP TABLE treasure; --",
  '"; DROP TABLE treasure; --',
  '`; DROP TABLE treasure; --',
  ']; DROP TABLE treasure; --',
  "' OR '1'='1",
  "\\'; DELETE FROM treasure; -- ",
  "E'\\''",
  '1 or 1=1',
  '..',
  'treasure',
  'żółć',
  '🐢',
  '\u2019',
  '\uff07',
  '\u00a5',
  '％27',
  'NULL',
  "x' || (select gold from treasure) || '",
]

/** Texts made of parts that break out of quotes, the same in every run. */
export function hostileTexts(count: number): string[] {
  const seeded = new SeededRandom(20261121)
  const random = () => seeded.next()
  const pick = () => PIECES[Math.floor(random() * PIECES.length)] ?? ''
  return Array.from({ length: count }, (_, index) => {
    const length = 1 + Math.floor(random() * 8)
    return `${Array.from({ length }, pick).join('')}${index % 7 === 0 ? `'${index}` : ''}`
  })
}

const READS = [
  'select 1',
  'select * from treasure',
  'select gold from treasure where id = 1',
  'with x as (select 1) select * from x',
  'select * from (select 1 as a) t',
  "select 'a' as b",
]
const WRITES = [
  'delete from treasure',
  "update treasure set gold = 'stolen'",
  "insert into treasure values (2, 'fool''s')",
  'drop table treasure',
  'truncate table treasure',
  'alter table treasure add x int',
  'create table loot (a int)',
  'create table loot as select * from treasure',
  'select * into loot from treasure',
  'with x as (delete from treasure returning *) select * from x',
  'explain analyze delete from treasure',
  'lock table treasure',
  "replace into treasure values (1, 'stolen')",
  'rename table treasure to loot',
  'grant all on treasure to public',
  'set session transaction read write',
  'set transaction read write',
  'set role postgres',
  'commit',
  'rollback',
  'do $$ begin delete from treasure; end $$',
  "execute immediate 'delete from treasure'",
  "prepare s from 'delete from treasure'",
  "copy treasure from program 'echo 1'",
  "select set_config('transaction_read_only', 'off', false)",
  "select * from treasure into outfile '/tmp/loot'",
  'call steal()',
  'handler treasure open',
  'flush tables',
  'reset all',
]
const GLUES = [
  '; ',
  ';',
  ' ;\n',
  ' /* */; ',
  ' -- \n; ',
  ' --\n',
  ' /*! ; */ ',
  ' # \n; ',
  ' union ',
  ' ',
  '\n',
  "'; ",
  '"; ',
  '$$; ',
  ' /* /* */ ; ',
  ' */ ; ',
  '\\; ',
  ' --1 ; ',
]

/** Batches in which a write hides behind a read, the same in every run. */
export function hostileStatements(count: number): string[] {
  const seeded = new SeededRandom(11262026)
  const random = () => seeded.next()
  const pick = (from: readonly string[]) => from[Math.floor(random() * from.length)] ?? ''
  const wrapped = (text: string) => {
    const forms = [
      text,
      `/* ${text} */ ${text}`,
      `/*!50000 ${text} */`,
      `/*M! ${text} */`,
      `(${text})`,
      `explain ${text}`,
      text.toUpperCase(),
    ]
    return pick(forms)
  }
  return Array.from({ length: count }, () => {
    const parts = [pick(READS), pick(GLUES), wrapped(pick(WRITES))]
    if (random() < 0.3) parts.unshift(wrapped(pick(WRITES)), pick(GLUES))
    if (random() < 0.3) parts.push(pick(PIECES))
    return parts.join('')
  })
}
