import { expect } from 'chai'
import { RESOURCE_KINDS } from '../../src/crds/index.ts'
import { playSequences, WORKLOADS } from './sequences.ts'

/** More sequences, other ones: TEARDOWN_SEQUENCES=200 TEARDOWN_SEED=7 npm run test:unit -- --grep="random sequences" */
const SEQUENCES = Number(process.env.TEARDOWN_SEQUENCES ?? 40)
const SEED = Number(process.env.TEARDOWN_SEED ?? 1)

/** `npm run faults` plays twenty times as many. */
describe('random sequences of changes and a deletion, with a late StatefulSet controller', () => {
  it('cover every kind of resource', () => {
    expect(WORKLOADS.map(({ kind }) => kind.kind)).to.have.members(RESOURCE_KINDS.map(({ kind }) => kind))
  })

  it(`leave nothing and write little: ${SEQUENCES} sequences from seed ${SEED}`, async () => {
    const most = await playSequences(SEQUENCES, SEED)
    if (process.env.TEARDOWN_SEQUENCES !== undefined) console.log(`      at most ${most} writes for a deletion`)
  })
})
