import { expect } from 'chai'
import { type MachineFacts, nodeIsCramped, nodeIsImpossible } from './requirements.ts'

describe('a machine for a real node', () => {
  const able: MachineFacts = {
    ...{ platform: 'linux', isRoot: true, missing: [], refusal: undefined },
    inotifyInstances: 512,
  }
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

  const cramped: [title: string, instances: number | undefined, isTold: boolean][] = [
    ['some hundreds of inotify instances', 256, false],
    ['fewer of them', 128, true],
    ['a kernel that does not say how many', undefined, false],
  ]
  for (const [title, inotifyInstances, isTold] of cramped) {
    it(`${title}: ${isTold ? 'is told how to raise the limit, and can run one' : 'is told nothing'}`, () => {
      const facts = { ...able, inotifyInstances }
      expect(nodeIsImpossible(facts)).to.equal(undefined)
      const told = nodeIsCramped(facts)
      if (!isTold) return expect(told).to.equal(undefined)
      return expect(told).to.include('128').and.to.include('sysctl -w fs.inotify.max_user_instances=512')
    })
  }
})
