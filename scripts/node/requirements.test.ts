import { expect } from 'chai'
import { type MachineFacts, nodeIsImpossible } from './requirements.ts'

describe('a machine for a real node', () => {
  const able: MachineFacts = { platform: 'linux', isRoot: true, missing: [], refusal: undefined }
  const cases: [string, Partial<MachineFacts>, RegExp | undefined][] = [
    ['Linux, as root, with what is needed', {}, undefined],
    [
      'macOS',
      { platform: 'darwin' },
      /^A real node needs Linux, and this is darwin: start the platform without --node/,
    ],
    ['somebody who is not root', { isRoot: false }, /^A real node needs root/],
    ['a missing program', { missing: ['unshare'] }, /needs unshare, which is not on the PATH: install it/],
    ['two missing programs', { missing: ['apt-get', 'tar'] }, /needs apt-get, tar, which are not on the PATH/],
    ['a kernel that refuses', { refusal: 'unshare failed' }, /gives no namespaces or mounts \(unshare failed\)/],
  ]
  for (const [title, facts, expected] of cases) {
    it(`${title}: ${expected === undefined ? 'can run one' : 'is told why not, in one sentence'}`, () => {
      const told = nodeIsImpossible({ ...able, ...facts })
      if (expected === undefined) return expect(told).to.equal(undefined)
      return expect(told)
        .to.match(expected)
        .and.to.match(/^[^\n]+\.$/)
    })
  }
})
