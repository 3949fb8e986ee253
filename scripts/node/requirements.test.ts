import { expect } from 'chai'
import { type MachineFacts, nodeIsCramped, nodeIsImpossible } from './requirements.ts'

describe('nodeIsImpossible and nodeIsCramped', () => {
  const able: MachineFacts = {
    ...{ platform: 'linux', isRoot: true, missing: [], refusal: undefined },
    inotifyInstances: 512,
  }
  const cases: [string, Partial<MachineFacts>, RegExp | undefined][] = [
    ['Linux as root with all programs', {}, undefined],
    [
      'macOS',
      { platform: 'darwin' },
      /^A real node needs Linux, and this is darwin: start the platform without --node/,
    ],
    ['a user who is not root', { isRoot: false }, /^A real node needs root/],
    ['a missing program', { missing: ['unshare'] }, /needs unshare, which is not on the PATH: install it/],
    ['two missing programs', { missing: ['apt-get', 'tar'] }, /needs apt-get, tar, which are not on the PATH/],
    ['a kernel without namespaces', { refusal: 'unshare failed' }, /gives no namespaces or mounts \(unshare failed\)/],
  ]
  for (const [title, facts, expected] of cases) {
    it(`${expected === undefined ? 'accept' : 'reject'} ${title}`, () => {
      const told = nodeIsImpossible({ ...able, ...facts })
      if (expected === undefined) return expect(told).to.equal(undefined)
      return expect(told)
        .to.match(expected)
        .and.to.match(/^[^\n]+\.$/)
    })
  }

  const cramped: [title: string, instances: number | undefined, isTold: boolean][] = [
    ['256 inotify instances', 256, false],
    ['128 inotify instances', 128, true],
    ['an unknown number of inotify instances', undefined, false],
  ]
  for (const [title, inotifyInstances, isTold] of cramped) {
    it(`${isTold ? 'warn about' : 'accept'} ${title}`, () => {
      const facts = { ...able, inotifyInstances }
      expect(nodeIsImpossible(facts)).to.equal(undefined)
      const told = nodeIsCramped(facts)
      if (!isTold) return expect(told).to.equal(undefined)
      return expect(told).to.include('128').and.to.include('sysctl -w fs.inotify.max_user_instances=512')
    })
  }
})
