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

describe('rotation of vector keys', () => {
  it('generates a current key for a new database', () => {
    expect(wantedKeys(undefined, 1, options)).to.deep.equal(keys({ current: key(1), createdAt: 't1' }))
  })

  it('generates a pending key if peers may run with lost keys', () => {
    const made = wantedKeys(undefined, 4, { ...options, peersMayRun: true })
    expect(made).to.deep.equal(keys({ pending: key(4), createdAt: 't1' }))
    expect(podKeys(made, TWO)).to.deep.equal({ main: key(4), alternative: undefined })
    expect(promotePendingKey(made, TWO, 't2').current).to.deep.equal(key(4))
  })

  const unchanged: [sentence: string, stored: VectorKeys, version: number][] = [
    ['keeps the keys of the same version', keys({ current: key(2) }), 2],
    ['keeps the keys of a higher version', keys({ current: key(2) }), 1],
    ['starts no rotation while another is pending', keys({ current: key(1), pending: key(2) }), 3],
    ['starts no rotation before the former key is removed', keys({ current: key(2), retired: key(1) }), 3],
  ]
  for (const [sentence, stored, version] of unchanged) {
    it(sentence, () => expect(wantedKeys(stored, version, options)).to.equal(stored))
  }

  it('keeps the former key valid until every peer has the new one if the engine accepts two', () => {
    const started = wantedKeys(keys({ current: key(1) }), 2, options)
    expect(podKeys(started, TWO)).to.deep.equal({ main: key(2), alternative: key(1) })
    const promoted = promotePendingKey(started, TWO, 't2')
    expect(promoted).to.deep.equal(keys({ current: key(2), retired: key(1), rotatedAt: 't2' }))
    // The peers must drop the former key; its entry stays for those that restart until then.
    expect(podKeys(promoted, TWO)).to.deep.equal({ main: key(2), alternative: undefined })
    expect(promotePendingKey(promoted, TWO, 't3')).to.deep.equal(keys({ current: key(2), rotatedAt: 't2' }))
  })

  it('replaces the key in one rollout if the engine accepts one', () => {
    const started = wantedKeys(keys({ current: key(1) }), 2, options)
    expect(podKeys(started, ONE)).to.deep.equal({ main: key(2), alternative: undefined })
    const promoted = promotePendingKey(started, ONE, 't2')
    expect(promoted).to.deep.equal(keys({ current: key(2), rotatedAt: 't2' }))
    expect(promotePendingKey(promoted, ONE, 't3')).to.equal(promoted)
  })
})
