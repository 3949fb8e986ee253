import { BlueprintSource } from '../../../src/crds/blueprintSources.ts'
import { BlueprintExecution, BlueprintTemplate } from '../../../src/crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../../src/crds/defaultBlueprints.ts'
import { cases, fixed, ID, OTHER, type RuleCase } from './case.ts'

const TEMPLATE = { slug: 'vector-database', content: DEFAULT_BLUEPRINTS[0] }
const SLUG = 'slug is no uuid, and none of config, catalog, deploys, sources and templates'
const SOURCE = { repositoryUrl: 'https://git.example.com/acme/blueprints.git' }
const INSTALLED = { repositoryUrl: undefined, installationId: '77', repositoryId: '5' }
const REPOSITORY = 'either repositoryUrl is needed, or installationId with repositoryId'
const STEP = { component: 'db', collection: 'vectorclusters', resourceName: 'shop', objectName: 'shop', body: '{}' }
const EXECUTION = {
  slug: 'vector-database',
  blueprintName: 'Vector database',
  version: '1.0.0',
  name: 'shop',
  resourceGroup: 'shop',
  clusterId: ID,
  startedBy: ID,
  parameters: {},
  steps: [{ ...STEP, manifest: '{}' }],
}

export const BLUEPRINT_RULES: readonly RuleCase[] = [
  ...cases(BlueprintTemplate, TEMPLATE, [
    ['a template', undefined, {}],
    ['other content', {}, { content: DEFAULT_BLUEPRINTS[1] }],
    ['another slug', {}, { slug: 'web' }, fixed('slug')],
    ['another source', { sourceId: ID }, { sourceId: OTHER }, fixed('sourceId')],
    ['a word of the interface for a slug', undefined, { slug: 'sources' }, SLUG],
    ['a uuid for a slug', undefined, { slug: ID }, SLUG],
  ]),
  ...cases(BlueprintSource, SOURCE, [
    ['of an address', undefined, {}],
    ['of an installation', undefined, INSTALLED],
    ['another ref and folder, switched off', {}, { ref: 'next', path: '/templates', enabled: false }],
    ['a request', {}, { requests: { syncAt: '2026-01-01T00:00:00.000Z' } }],
    ['of nothing', undefined, { repositoryUrl: undefined }, REPOSITORY],
    ['of both', undefined, { ...INSTALLED, ...SOURCE }, REPOSITORY],
    ['of half an installation', undefined, { ...INSTALLED, repositoryId: undefined }, REPOSITORY],
    ['of the other half', undefined, { ...INSTALLED, installationId: undefined }, REPOSITORY],
    ['another address', {}, { repositoryUrl: 'https://git.example.com/x.git' }, fixed('repositoryUrl')],
    ['another installation', INSTALLED, { ...INSTALLED, installationId: '78' }, fixed('installationId')],
    ['another repository of it', INSTALLED, { ...INSTALLED, repositoryId: '6' }, fixed('repositoryId')],
    ['another provider', { provider: 'Git' }, { provider: 'GitHub' }, fixed('provider')],
    ['another name to show', {}, { repositoryFullName: 'acme/x' }, fixed('repositoryFullName')],
  ]),
  ...cases(BlueprintExecution, EXECUTION, [
    ['the same again', {}, {}],
    ['another blueprint', {}, { slug: 'web' }, fixed('slug')],
    ['another name of it', {}, { blueprintName: 'Web' }, fixed('blueprintName')],
    ['another version', {}, { version: '2.0.0' }, fixed('version')],
    ['another name', {}, { name: 'web' }, fixed('name')],
    ['another group', {}, { resourceGroup: 'web' }, fixed('resourceGroup')],
    ['another cluster', {}, { clusterId: OTHER }, fixed('clusterId')],
    ['somebody else', {}, { startedBy: OTHER }, fixed('startedBy')],
    ['a retry of another one', { retryOf: ID }, { retryOf: OTHER }, fixed('retryOf')],
    ['other components taken over', { takenOver: ['db'] }, { takenOver: ['web'] }, fixed('takenOver')],
    ['other parameters', {}, { parameters: { plan: 'vector-dev' } }, fixed('parameters')],
    ['other secret parameters', {}, { secretParameters: ['password'] }, fixed('secretParameters')],
    ['other steps', {}, { steps: [{ ...STEP, manifest: '{"replicas":3}' }] }, fixed('steps')],
    ['other outputs', {}, { outputs: [{ name: 'url' }] }, fixed('outputs')],
  ]),
]
