import { BlueprintSource } from '../../../src/crds/blueprintSources.ts'
import { BlueprintExecution, BlueprintTemplate } from '../../../src/crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../../src/crds/defaultBlueprints.ts'
import { cases, fixed, ID, OTHER, type RuleCase } from './case.ts'

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
    ['a repository for everybody', undefined, { repositoryUrl: URL }],
    ['a repository of an installation', undefined, INSTALLED],
    ['nothing', undefined, {}, PLACE],
    ['both', undefined, { ...INSTALLED, repositoryUrl: URL }, PLACE],
    ['an installation alone', undefined, { installationId: '17' }, PLACE],
    ['another branch and folder', { repositoryUrl: URL }, { repositoryUrl: URL, ref: 'next', path: '/more' }],
    ['another provider', { repositoryUrl: URL }, { repositoryUrl: URL, provider: 'Gitea' }, fixed('provider')],
    ['another repository', { repositoryUrl: URL }, { repositoryUrl: `${URL}x` }, fixed('repositoryUrl')],
    ['another installation', INSTALLED, { ...INSTALLED, installationId: '18' }, fixed('installationId')],
    ['another of its repositories', INSTALLED, { ...INSTALLED, repositoryId: '5' }, fixed('repositoryId')],
  ]),
  ...cases(BlueprintTemplate, TEMPLATE, [
    ['a template', undefined, {}],
    ['other content', {}, { content: DEFAULT_BLUEPRINTS[1] }],
    ['another slug', {}, { slug: 'web' }, fixed('slug')],
    ['a file that was renamed', { sourcePath: 'a.yaml' }, { sourcePath: 'b.yaml' }],
    ['another source', { sourceId: ID }, { sourceId: OTHER }, fixed('sourceId')],
    ['a word of the interface for a slug', undefined, { slug: 'sources' }, SLUG],
    ['a uuid for a slug', undefined, { slug: ID }, SLUG],
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
    ['other places of late values', { lateMark: 'k3' }, { lateMark: 'k4' }, fixed('lateMark')],
    ['other parameters', {}, { parameters: { plan: 'vector-dev' } }, fixed('parameters')],
    ['other secret parameters', {}, { secretParameters: ['password'] }, fixed('secretParameters')],
    ['other steps', {}, { steps: [{ ...STEP, manifest: '{"replicas":3}' }] }, fixed('steps')],
    ['other outputs', {}, { outputs: [{ name: 'url' }] }, fixed('outputs')],
  ]),
]
