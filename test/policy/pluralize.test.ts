import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'

const root = join(import.meta.dirname, '../..')
const SOURCES = globSync('src/**/*.ts', { cwd: root }).filter((path) => !path.endsWith('.test.ts'))
const LINES = SOURCES.flatMap((path) =>
  readFileSync(join(root, path), 'utf8')
    .split('\n')
    .map((line, index) => ({ place: `${path}:${index + 1}`, line })),
)

/** Limits that are far above one. */
const NEVER_ONE = ['bytes', 'files']

/** The plurals passed to `pluralize` and `describeReadyCount`. */
const PLURALS = LINES.flatMap(({ line }) =>
  [...line.matchAll(/(?:pluralize|describeReadyCount)\((?:[^'()]|\([^'()]*\))*'([a-z ]+)'(?:, '([a-z ]+)')?\)/g)].map(
    ([, one, many]) => many ?? `${one}s`,
  ),
).filter((plural) => !NEVER_ONE.includes(plural))

describe('counts in messages', () => {
  it('have nouns that are found in calls of pluralize', () => {
    expect(PLURALS).to.include.members(['buckets', 'copies', 'manifests', 'snapshots'])
  })

  it('use `pluralize`, which avoids "1 snapshots"', () => {
    const noun = [...new Set(PLURALS)].join('|')
    // Constants are not counts, and a line that checks for one has its own sentence.
    const bare = new RegExp(`\\$\\{(?![A-Z_]+\\})[^{}]+\\} (${noun})\\b`)
    const found = LINES.filter(({ line }) => bare.test(line) && !/=== 1\b/.test(line))
    expect(found.map(({ place, line }) => `${place}: ${line.trim()}`)).to.deep.equal([])
  })
})
