import { expect } from 'chai'
import { resourceId } from '../core/object.ts'
import { KINDS } from '../crds/index.ts'
import { isReconciled } from '../crds/manifest.ts'
import { operatorRights, operatorSystemRights } from './index.ts'

describe('permissions of the operator', () => {
  const rights = operatorRights()

  it('include one Secret by name; others are granted per namespace', () => {
    const secrets = rights.filter(({ resource }) => resourceId(resource) === 'secrets')
    // The credentials of the platform's backup target, in the namespace of Velero.
    expect(secrets.map(({ resourceNames }) => resourceNames)).to.deep.equal([['freehold-platform-backup-target']])
  })

  it('include only these verbs for Secrets in the system namespace, by name where they are read', () => {
    const secrets = operatorSystemRights().filter(({ resource }) => resource.plural === 'secrets')
    const rights = new Set(secrets.map(({ verbs, resourceNames }) => [...verbs, ...(resourceNames ?? [])].join(' ')))
    expect([...rights].map((right) => right.split(' '))).to.deep.equal([
      // The certificate with which replicas enter each other's tunnels.
      ['get', 'freehold-agent-peer'],
      ['create', 'delete'],
      // The administrator's backup target.
      ['get', 'freehold-backup-target'],
      // Secrets of cert-manager for custom domains of functions; an admission policy limits it to these.
      ['delete'],
      // The key for digests of function keys.
      ['get', 'freehold-function-keys'],
      ['create'],
      // The two Secrets of the platform's backup target.
      ['get', 'platform-backup-target-a', 'platform-backup-target-b'],
      // The values of components, to list their entries.
      ['get', 'install-configuration'],
    ])
  })

  it('bind the four Secret roles and the projected roles, and no others', () => {
    const binding = rights.filter(({ verbs }) =>
      verbs.some((verb) => ['bind', 'escalate', 'impersonate', '*'].includes(verb)),
    )
    expect(binding.every(({ verbs }) => verbs.join() === 'bind')).to.equal(true)
    const names = new Set(binding.flatMap(({ resourceNames = ['*'] }) => resourceNames))
    expect([...names].filter((name) => !name.startsWith('freehold-project-')).sort()).to.deep.equal([
      'freehold-facade-secrets',
      'freehold-secrets',
      'freehold-source-secrets',
      'freehold-source-secrets-watch',
    ])
    expect(names).to.include('freehold-project-owner')
  })

  it('contain no wildcard in groups and resources', () => {
    expect(
      rights.filter(({ resource }) => resource.plural.includes('*') || resource.group.includes('*')),
    ).to.deep.equal([])
  })

  it('patch the status of exactly the kinds with a controller', () => {
    const statuses = rights.filter(({ resource }) => resource.plural.endsWith('/status'))
    // The generation of a kind without a controller would never be observed.
    expect(statuses.map(({ resource }) => resource.plural).sort()).to.deep.equal(
      KINDS.filter(isReconciled)
        .map(({ plural }) => `${plural}/status`)
        .sort(),
    )
    for (const { resource, verbs } of statuses) {
      const kind = KINDS.find((each) => `${each.resource.plural}/status` === resource.plural)
      expect(kind?.resource.group, resource.plural).to.equal(resource.group)
      expect(verbs).to.deep.equal(['patch'])
    }
  })
})
