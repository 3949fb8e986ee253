import { expect } from 'chai'
import { isOurs, resourceId } from '../../core/object.ts'
import { KINDS } from '../../crds/index.ts'
import { platformSchedule } from '../../desired/platformbackups.ts'
import { operatorRights } from '../index.ts'

/** Created, but not stored. */
const REVIEWS = 'authorization.k8s.io'

describe('platformSchedule', () => {
  const { includedNamespaceScopedResources, includedClusterScopedResources } = platformSchedule(
    { cron: '0 1 * * *', ttlHours: 720, paused: false },
    { kinds: KINDS, velero: 'velero', location: 'default' },
  ).spec.template as Record<string, string[]>
  const included = new Set([...(includedNamespaceScopedResources ?? []), ...(includedClusterScopedResources ?? [])])

  it('includes every kind of the platform', () => {
    expect(KINDS.map(({ resource }) => resourceId(resource)).filter((id) => !included.has(id))).to.deep.equal([])
  })

  it('includes everything else that controllers store beside the records, which nothing derives again', () => {
    const stored = operatorRights()
      .filter((right) => right.in === 'records' && right.verbs.includes('create') && right.resource.group !== REVIEWS)
      .map(({ resource }) => resource)
      .filter((resource) => !isOurs(resource))
    expect(stored.map(resourceId)).to.include('controllerrevisions.apps')
    expect(stored.map(resourceId).filter((id) => !included.has(id))).to.deep.equal([])
  })
})
