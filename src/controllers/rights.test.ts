import { expect } from 'chai'
import { resourceId } from '../core/object.ts'
import { KINDS } from '../crds/index.ts'
import { isReconciled } from '../crds/manifest.ts'
import { operatorRights, operatorSystemRights } from './index.ts'

describe('the rights of the operator', () => {
  const rights = operatorRights()

  it('hold no Secrets but one by its name: the others are opened namespace by namespace', () => {
    const secrets = rights.filter(({ resource }) => resourceId(resource) === 'secrets')
    // The key of the target of the platform's backups, beside Velero.
    expect(secrets.map(({ resourceNames }) => resourceNames)).to.deep.equal([['freehold-platform-backup-target']])
  })

  it('read no Secret of the platform itself, and change none', () => {
    const secrets = operatorSystemRights().filter(({ resource }) => resource.plural === 'secrets')
    const rights = new Set(secrets.map(({ verbs, resourceNames }) => [...verbs, ...(resourceNames ?? [])].join(' ')))
    expect([...rights].map((right) => right.split(' '))).to.deep.equal([
      // A certificate with which tunnels of other replicas are entered, and which opens nothing else.
      ['get', 'freehold-agent-peer'],
      ['create', 'delete'],
      // Of an administrator's own, by its name: what backups are written with.
      ['get', 'freehold-backup-target'],
      // What cert-manager keeps of custom domains of functions; the admission policy confines it to that.
      ['delete'],
      // What digests of the keys of functions are made with.
      ['get', 'freehold-function-keys'],
      ['create'],
      // What the platform itself is backed up with, by its two names.
      ['get', 'platform-backup-target-a', 'platform-backup-target-b'],
      // What people gave to components: which entries there are.
      ['get', 'install-configuration'],
    ])
  })

  it('bind the four roles for Secrets, those that assignments become, and no other', () => {
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

  it('name no wildcard', () => {
    expect(
      rights.filter(({ resource }) => resource.plural.includes('*') || resource.group.includes('*')),
    ).to.deep.equal([])
  })

  it('let the status be written of each kind that has a controller, and of no other', () => {
    const statuses = rights.filter(({ resource }) => resource.plural.endsWith('/status'))
    // A kind that no controller looks at would be waited for for ever by whoever reads its generation.
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
