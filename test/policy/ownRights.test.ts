import { expect } from 'chai'
import { readManifests } from '../../scripts/platform/manifests.ts'
import { KINDS } from '../../src/crds/index.ts'

type Rule = { apiGroups: string[]; resources: string[]; verbs: string[] }
type Role = { kind: string; metadata: { name: string }; rules: Rule[] }

describe("rights of the platform's service accounts", () => {
  const manifests = readManifests(new URL('../../deploy/manifests/rbac.yaml', import.meta.url).pathname)
  const roles = manifests as never as Role[]
  const rulesOf = (name: string) =>
    roles.flatMap(({ metadata, rules }) => (metadata.name === name ? (rules ?? []) : []))
  const verbsOf = (name: string, resource: string) =>
    new Set(rulesOf(name).flatMap(({ resources, verbs }) => (resources.includes(resource) ? verbs : [])))
  const WRITES = ['create', 'update', 'patch', 'delete', 'deletecollection']

  it('include no update of custom resources for the facade and the controllers', () => {
    const plurals = new Set(KINDS.map(({ resource }) => resource.plural))
    for (const name of ['freehold-facade', 'freehold-controllers']) {
      expect(rulesOf(name), name).to.not.be.empty
      const replaced = rulesOf(name).filter(({ verbs }) => verbs.includes('update'))
      expect(replaced.flatMap(({ resources }) => resources).filter((plural) => plurals.has(plural))).to.deep.equal([])
    }
  })

  for (const plural of ['computeplans', 'appruntimes', 'roledefinitions', 'componentreleases', 'platformclients'])
    it(`let the facade only read ${plural}`, () => {
      expect([...verbsOf('freehold-facade', plural)])
        .to.include('get')
        .and.not.include.oneOf(WRITES)
    })

  it('include no update of Secrets of tenants', () => {
    expect([...verbsOf('freehold-secrets', 'secrets')])
      .to.include('get')
      .and.not.include('update')
  })
})
