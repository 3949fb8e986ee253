import { BlueprintSource } from '../../../src/crds/blueprintSources.ts'
import { BlueprintExecution, BlueprintTemplate } from '../../../src/crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../../src/crds/defaultBlueprints.ts'
import { cases, fixed, ID, OTHER, type RuleCase } from './case.ts'

const CONTENT = 'content must have at most 262144 bytes'
const TEMPLATE = { slug: 'vector-database', content: DEFAULT_BLUEPRINTS[0] }
const SLUG = 'slug must not be a uuid, nor one of config, catalog, deploys, sources and templates'
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

const PLACE = 'either repositoryUrl is required, or installationId with repositoryId'
const URL = 'https://git.example.com/acme/shop.git'
const INSTALLED = { installationId: '17', repositoryId: '4' }

export const BLUEPRINT_RULES: readonly RuleCase[] = [
  ...cases(BlueprintSource, {}, [
    ['a public repository', undefined, { repositoryUrl: URL }],
    ['a repository of an installation', undefined, INSTALLED],
    ['a source without repository and installation', undefined, {}, PLACE],
    ['a source with repository and installation', undefined, { ...INSTALLED, repositoryUrl: URL }, PLACE],
    ['an installation without a repository', undefined, { installationId: '17' }, PLACE],
    ['another branch and folder', { repositoryUrl: URL }, { repositoryUrl: URL, ref: 'next', path: '/more' }],
    ['another provider', { repositoryUrl: URL }, { repositoryUrl: URL, provider: 'Gitea' }, fixed('provider')],
    ['another repository', { repositoryUrl: URL }, { repositoryUrl: `${URL}x` }, fixed('repositoryUrl')],
    ['another installation', INSTALLED, { ...INSTALLED, installationId: '18' }, fixed('installationId')],
    ['another repositoryId', INSTALLED, { ...INSTALLED, repositoryId: '5' }, fixed('repositoryId')],
  ]),
  ...cases(BlueprintTemplate, TEMPLATE, [
    ['a template', undefined, {}],
    ['other content', {}, { content: DEFAULT_BLUEPRINTS[1] }],
    ['another slug', {}, { slug: 'web' }, fixed('slug')],
    ['another sourcePath', { sourcePath: 'a.yaml' }, { sourcePath: 'b.yaml' }],
    ['another source', { sourceId: ID }, { sourceId: OTHER }, fixed('sourceId')],
    ['a reserved word as slug', undefined, { slug: 'sources' }, SLUG],
    ['a UUID as slug', undefined, { slug: ID }, SLUG],
    ['content of exactly 256 KiB', undefined, { content: 'ä'.repeat(131_072) }],
    ['content of more bytes than 256 KiB', undefined, { content: 'ä'.repeat(131_073) }, CONTENT],
  ]),
  ...cases(BlueprintExecution, EXECUTION, [
    ['an unchanged spec', {}, {}],
    ['another blueprint', {}, { slug: 'web' }, fixed('slug')],
    ['another blueprintName', {}, { blueprintName: 'Web' }, fixed('blueprintName')],
    ['another version', {}, { version: '2.0.0' }, fixed('version')],
    ['another name', {}, { name: 'web' }, fixed('name')],
    ['another group', {}, { resourceGroup: 'web' }, fixed('resourceGroup')],
    ['another cluster', {}, { clusterId: OTHER }, fixed('clusterId')],
    ['another startedBy', {}, { startedBy: OTHER }, fixed('startedBy')],
    ['another retryOf', { retryOf: ID }, { retryOf: OTHER }, fixed('retryOf')],
    ['another takenOver', { takenOver: ['db'] }, { takenOver: ['web'] }, fixed('takenOver')],
    ['another lateMark', { lateMark: 'k3' }, { lateMark: 'k4' }, fixed('lateMark')],
    ['other parameters', {}, { parameters: { plan: 'vector-dev' } }, fixed('parameters')],
    ['other secret parameters', {}, { secretParameters: ['password'] }, fixed('secretParameters')],
    ['other steps', {}, { steps: [{ ...STEP, manifest: '{"replicas":3}' }] }, fixed('steps')],
    ['other outputs', {}, { outputs: [{ name: 'url' }] }, fixed('outputs')],
  ]),
]
