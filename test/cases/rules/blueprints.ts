import { BlueprintExecution, BlueprintTemplate } from '../../../src/crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../../src/crds/defaultBlueprints.ts'
import { cases, fixed, ID, OTHER, type RuleCase } from './case.ts'

const TEMPLATE = { slug: 'vector-database', content: DEFAULT_BLUEPRINTS[0] }
const SLUG = 'slug is no uuid, and none of config, catalog, deploys, sources and templates'
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
