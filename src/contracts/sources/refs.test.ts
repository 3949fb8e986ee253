import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { GIT_NAMES, REPOSITORY_NAMES } from '../../../test/cases/gitNames.ts'
import { SeededRandom } from '../../../test/make/random.ts'
import {
  BRANCH_OR_TAG_RULE,
  BRANCH_PATTERN_RULE,
  BRANCH_RULE,
  isValidGitName,
  REF_RULE,
  REPOSITORY_RULE,
} from './refs.ts'

const run = promisify(execFile)
const shown = (name: string) => JSON.stringify(name.length > 40 ? `${name.slice(0, 40)}...` : name)

describe('isValidGitName, branches, tags and refs', () => {
  for (const name of GIT_NAMES.possible)
    it(`accepts ${shown(name)}`, () => {
      for (const rule of [BRANCH_RULE, BRANCH_OR_TAG_RULE, BRANCH_PATTERN_RULE])
        expect(isValidGitName(rule, name)).to.equal(true)
      for (const folder of ['heads', 'tags']) expect(isValidGitName(REF_RULE, `refs/${folder}/${name}`)).to.equal(true)
    })

  for (const [what, name] of GIT_NAMES.impossible)
    it(`rejects ${what}: ${shown(name)}`, () => {
      for (const rule of [BRANCH_RULE, BRANCH_OR_TAG_RULE, BRANCH_PATTERN_RULE])
        expect(isValidGitName(rule, name)).to.equal(false)
      expect(isValidGitName(REF_RULE, `refs/heads/${name}`)).to.equal(false)
    })

  it('accepts wildcards in patterns only', () => {
    for (const name of ['feature/*', '*', 'v?', 'release/*/fix-?']) {
      expect(isValidGitName(BRANCH_PATTERN_RULE, name), name).to.equal(true)
      for (const rule of [BRANCH_RULE, BRANCH_OR_TAG_RULE, REF_RULE])
        expect(isValidGitName(rule, name), name).to.equal(false)
    }
  })

  it('agrees with git check-ref-format, except for invisible characters, a leading hyphen and @', async () => {
    const random = new SeededRandom(7)
    const parts = [
      'a',
      '.',
      '/',
      '-',
      '@',
      '{',
      '}',
      '.lock',
      '~',
      '^',
      ':',
      '?',
      '*',
      '[',
      '\\',
      ' ',
      '\u0001',
      '\u007f',
      'é',
    ]
    const names = Array.from({ length: 150 }, () =>
      Array.from({ length: 1 + random.below(4) }, () => parts[random.below(parts.length)]).join(''),
    )
    // A shell forks Git faster than a process with all tests in memory.
    const each = 'for name; do git check-ref-format "refs/heads/$name" && echo true || echo false; done'
    const { stdout } = await run('sh', ['-c', each, 'sh', ...names])
    const answers = stdout.trimEnd().split('\n')
    expect(answers).to.have.lengthOf(names.length)
    for (const [index, name] of names.entries()) {
      const isGits = answers[index] === 'true'
      expect(isValidGitName(BRANCH_RULE, name), JSON.stringify(name)).to.equal(
        isGits && !name.startsWith('-') && name !== '@',
      )
    }
  })
})

describe('isValidGitName, repositories', () => {
  for (const name of REPOSITORY_NAMES.possible)
    it(`accepts ${shown(name)}`, () => {
      expect(isValidGitName(REPOSITORY_RULE, name)).to.equal(true)
    })
  for (const [what, name] of REPOSITORY_NAMES.impossible)
    it(`rejects ${what}: ${shown(name)}`, () => {
      expect(isValidGitName(REPOSITORY_RULE, name)).to.equal(false)
    })
})
