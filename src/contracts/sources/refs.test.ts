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

describe('names of branches, tags and refs', () => {
  for (const name of GIT_NAMES.possible)
    it(`may be ${shown(name)}`, () => {
      for (const rule of [BRANCH_RULE, BRANCH_OR_TAG_RULE, BRANCH_PATTERN_RULE])
        expect(isValidGitName(rule, name)).to.equal(true)
      for (const folder of ['heads', 'tags']) expect(isValidGitName(REF_RULE, `refs/${folder}/${name}`)).to.equal(true)
    })

  for (const [what, name] of GIT_NAMES.impossible)
    it(`hold never ${what}: ${shown(name)}`, () => {
      for (const rule of [BRANCH_RULE, BRANCH_OR_TAG_RULE, BRANCH_PATTERN_RULE])
        expect(isValidGitName(rule, name)).to.equal(false)
      expect(isValidGitName(REF_RULE, `refs/heads/${name}`)).to.equal(false)
    })

  it('hold wildcards only where those are asked for', () => {
    for (const name of ['feature/*', '*', 'v?', 'release/*/fix-?']) {
      expect(isValidGitName(BRANCH_PATTERN_RULE, name), name).to.equal(true)
      for (const rule of [BRANCH_RULE, BRANCH_OR_TAG_RULE, REF_RULE])
        expect(isValidGitName(rule, name), name).to.equal(false)
    }
  })

  it('are those that Git itself takes, save for what cannot be seen, and what its commands would take for something else', async () => {
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
    // A shell starts Git for less than a process with all tests in its memory.
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

describe('full names of repositories', () => {
  for (const name of REPOSITORY_NAMES.possible)
    it(`may be ${shown(name)}`, () => {
      expect(isValidGitName(REPOSITORY_RULE, name)).to.equal(true)
    })
  for (const [what, name] of REPOSITORY_NAMES.impossible)
    it(`hold never ${what}: ${shown(name)}`, () => {
      expect(isValidGitName(REPOSITORY_RULE, name)).to.equal(false)
    })
})
