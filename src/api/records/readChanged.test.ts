import { expect } from 'chai'
import { sampleSpec } from '../../../test/make/samples.ts'
import { PlatformError } from '../../core/errors.ts'
import { KINDS } from '../../crds/index.ts'
import { readChanged } from './readChanged.ts'

const WORLD = {
  boundaryId: '11111111-1111-4111-8111-111111111111',
  ownerId: '22222222-2222-4222-8222-222222222222',
  memberId: '33333333-3333-4333-8333-333333333333',
}
/** What no field takes that has a type. */
const ODD = { odd: [true] }

describe('a spec that an earlier version stored', () => {
  for (const kind of KINDS) {
    const sample = sampleSpec(kind, WORLD) as Record<string, unknown>
    const isRefused = (spec: object, previous?: object) => {
      try {
        readChanged(kind.spec, spec, previous)
        return false
      } catch (error) {
        if (error instanceof PlatformError) return true
        throw error
      }
    }
    const fields = Object.keys(kind.spec.shape).filter((name) => isRefused({ ...sample, [name]: ODD }))

    it(`stays editable beside what is no longer taken: ${kind.kind}`, () => {
      for (const name of fields) {
        const stored = { ...sample, [name]: ODD }
        expect(isRefused(structuredClone(stored), stored), name).to.equal(false)
        expect(isRefused({ ...sample, [name]: { odd: [false] } }, stored), name).to.equal(true)
        for (const other of fields.filter((each) => each !== name))
          expect(isRefused({ ...stored, [other]: ODD }, stored), `${name} and ${other}`).to.equal(true)
      }
    })
  }
})
