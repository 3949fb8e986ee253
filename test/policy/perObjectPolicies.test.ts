import { expect } from 'chai'
import { admissionPolicies } from '../../scripts/generate/policies.ts'
import { reservedNames } from '../../src/api/index.ts'
import type { KubeObject } from '../../src/core/object.ts'
import { KINDS } from '../../src/crds/index.ts'

type Policy = KubeObject & { spec: { paramKind?: { kind: string } } }

describe('admission policies', () => {
  // The API server evaluates such a policy once for each object of the kind, of which a tenant could make thousands.
  it('have no parameters of a kind that tenants create', () => {
    const beside = (admissionPolicies(KINDS, reservedNames()) as Policy[]).flatMap(({ metadata, spec }) => {
      const kind = KINDS.find((one) => one.kind === spec.paramKind?.kind)
      return kind === undefined ? [] : [{ policy: metadata.name, placement: kind.placement }]
    })
    expect(beside).to.have.length.above(1)
    expect(beside.filter(({ placement }) => placement !== 'cluster')).to.deep.equal([])
  })
})
