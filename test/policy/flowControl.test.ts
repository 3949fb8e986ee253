import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect } from 'chai'
import { loadAll } from 'js-yaml'
import { PRINCIPAL_GROUPS } from '../../scripts/controlplane/access.ts'
import type { KubeObject } from '../../src/core/object.ts'

type Subject = { serviceAccount?: { namespace: string; name: string }; group?: { name: string } }
type FlowSchema = KubeObject & {
  spec: {
    matchingPrecedence: number
    priorityLevelConfiguration: { name: string }
    distinguisherMethod?: { type: string }
    rules: { subjects: Subject[] }[]
  }
}
type Level = KubeObject & { spec: { limited: { borrowingLimitPercent?: number } } }
type Workload = KubeObject & { spec: { template: { spec: { serviceAccountName: string } } } }

/** The precedence of the FlowSchema `service-accounts` of Kubernetes. */
const OF_ALL_ACCOUNTS = 9_000

const installed = loadAll(
  readFileSync(join(import.meta.dirname, '../../deploy/install.yaml'), 'utf8'),
) as readonly KubeObject[]
const ofKind = <T extends KubeObject>(kind: string) => installed.filter((object) => object.kind === kind) as T[]
const schemas = ofKind<FlowSchema>('FlowSchema')
const level = (name: string) =>
  ofKind<Level>('PriorityLevelConfiguration').find(({ metadata }) => metadata.name === name)?.spec.limited

const subjectsOf = ({ spec }: FlowSchema) => spec.rules.flatMap(({ subjects }) => subjects)
const limitedOf = ({ spec }: FlowSchema) => level(spec.priorityLevelConfiguration.name)
const ofPlatform = schemas.filter((schema) => subjectsOf(schema).some(({ serviceAccount }) => serviceAccount))
const ofPrincipals = schemas.filter((schema) => subjectsOf(schema).some(({ group }) => group))

describe('FlowSchemas', () => {
  it('have an installed priority level, a precedence before service-accounts, and queues by user', () => {
    for (const schema of schemas) {
      expect(limitedOf(schema), schema.metadata.name).to.be.an('object')
      expect(schema.spec.distinguisherMethod, schema.metadata.name).to.deep.equal({ type: 'ByUser' })
      expect(schema.spec.matchingPrecedence, schema.metadata.name).to.be.below(OF_ALL_ACCOUNTS)
    }
  })

  it('cover every service account of the platform, at levels without tenants', () => {
    const accounts = ofKind<Workload>('Deployment').map(({ metadata: { namespace }, spec }) => ({
      namespace,
      name: spec.template.spec.serviceAccountName,
    }))
    expect(ofPlatform.flatMap(subjectsOf).map(({ serviceAccount }) => serviceAccount)).to.have.deep.members(accounts)
    const levels = new Set(ofPrincipals.map(({ spec }) => spec.priorityLevelConfiguration.name))
    for (const { spec } of ofPlatform) expect(levels).to.not.include(spec.priorityLevelConfiguration.name)
  })

  it('cover every group of principals, each at its own level', () => {
    const groups = ofPrincipals.flatMap(subjectsOf).map(({ group }) => group?.name)
    expect(groups).to.have.members([...PRINCIPAL_GROUPS])
    const levels = new Set(ofPrincipals.map(({ spec }) => spec.priorityLevelConfiguration.name))
    expect(levels.size).to.equal(PRINCIPAL_GROUPS.length)
  })

  it('let levels of principals borrow nothing, unlike those of the platform', () => {
    for (const schema of ofPrincipals) expect(limitedOf(schema)).to.include({ borrowingLimitPercent: 0 })
    for (const schema of ofPlatform) expect(limitedOf(schema)).to.not.have.property('borrowingLimitPercent')
  })
})
