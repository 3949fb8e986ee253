import { expect } from 'chai'
import type { VectorKey, VectorKeys } from '../../contracts/vector.ts'
import { podKeys, promotePendingKey, wantedKeys } from './rotation.ts'

const key = (version: number): VectorKey => ({
  version,
  id: `id${version}`,
  apiKey: `k${version}`,
  readOnlyApiKey: `r${version}`,
})
const keys = (over: Partial<VectorKeys>): VectorKeys => ({
  current: undefined,
  pending: undefined,
  retired: undefined,
  createdAt: 't0',
  rotatedAt: undefined,
  ...over,
})
const options = { peersMayRun: false, now: 't1', generate: key }
const TWO = '1.17.1'
const ONE = '1.16.3'

describe('the keys of a vector database', () => {
  it('are made at once for a new one', () => {
    expect(wantedKeys(undefined, 1, options)).to.deep.equal(keys({ current: key(1), createdAt: 't1' }))
  })

  it('are only pending where the Secret was lost while peers may run with keys that nobody knows', () => {
    const made = wantedKeys(undefined, 4, { ...options, peersMayRun: true })
    expect(made).to.deep.equal(keys({ pending: key(4), createdAt: 't1' }))
    expect(podKeys(made, TWO)).to.deep.equal({ main: key(4), alternative: undefined })
    expect(promotePendingKey(made, TWO, 't2').current).to.deep.equal(key(4))
  })

  const unchanged: [sentence: string, stored: VectorKeys, version: number][] = [
    ['stay as they are while the version does', keys({ current: key(2) }), 2],
    ['stay as they are where the spec was set back', keys({ current: key(2) }), 1],
    ['are not rotated again before a rotation is done', keys({ current: key(1), pending: key(2) }), 3],
    ['are not rotated again before the former key is forgotten', keys({ current: key(2), retired: key(1) }), 3],
  ]
  for (const [sentence, stored, version] of unchanged) {
    it(sentence, () => expect(wantedKeys(stored, version, options)).to.equal(stored))
  }

  it('shows the former key as working all through a rotation, on every peer, where the engine accepts two', () => {
    const started = wantedKeys(keys({ current: key(1) }), 2, options)
    expect(podKeys(started, TWO)).to.deep.equal({ main: key(2), alternative: key(1) })
    const promoted = promotePendingKey(started, TWO, 't2')
    expect(promoted).to.deep.equal(keys({ current: key(2), retired: key(1), rotatedAt: 't2' }))
    // The peers are told to forget the former key; until they have, its entry must stay for those that restart.
    expect(podKeys(promoted, TWO)).to.deep.equal({ main: key(2), alternative: undefined })
    expect(promotePendingKey(promoted, TWO, 't3')).to.deep.equal(keys({ current: key(2), rotatedAt: 't2' }))
  })

  it('goes over in one rollout where the engine accepts one key', () => {
    const started = wantedKeys(keys({ current: key(1) }), 2, options)
    expect(podKeys(started, ONE)).to.deep.equal({ main: key(2), alternative: undefined })
    const promoted = promotePendingKey(started, ONE, 't2')
    expect(promoted).to.deep.equal(keys({ current: key(2), rotatedAt: 't2' }))
    expect(promotePendingKey(promoted, ONE, 't3')).to.equal(promoted)
  })
})
