import { SYSTEM_NAMESPACE } from '../../src/core/names.ts'
import { BlueprintTemplate } from '../../src/crds/blueprints.ts'
import { DEFAULT_BLUEPRINTS } from '../../src/crds/defaultBlueprints.ts'
import { CLUSTER } from './facadeServer.ts'
import { BOUNDARY, OWNER, startShop } from './shop.ts'

export const BLUEPRINTS = `/boundaries/${BOUNDARY}/resources/blueprints`
export const DEPLOY = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/blueprints/search/deploy`

/** The template of the blueprint `search`, with more components, and a different spec of its database. */
export const searchTemplate = (version = '1.0.0', more = '', spec = '{}') => `format: 1
slug: search
name: Search
version: ${version}
parameters:
  - { name: plan, type: plan, family: Vector, default: vector-dev }
  - { name: password, type: generated, length: 20 }
components:
  - name: vectors
    collection: vectorclusters
    resourceName: \${deploy.name}
    spec: ${spec === '{}' ? `{ computePlan: "\${parameters.plan}" }` : spec}
  - name: vault
    collection: secretvaults
    resourceName: \${deploy.name}-safe
  - name: password
    collection: secrets
    resourceName: password
    spec: { vaultName: "\${components.vault.name}", value: "\${parameters.password}" }
${more}outputs:
  - { name: endpoint, component: vectors, output: restEndpoint }
  - { name: key, component: vectors, output: apiKey, secret: true }
`

const slugOf = (content: string) => /^slug: (.*)$/m.exec(content)?.[1] ?? ''

/** The same with the blueprints of the platform. */
export async function startBlueprintShopWithDefaults(...given: Parameters<typeof startShop>) {
  const world = await startBlueprintShop(...given)
  for (const content of DEFAULT_BLUEPRINTS)
    world.put(BlueprintTemplate, slugOf(content), { slug: slugOf(content), content }, SYSTEM_NAMESPACE)
  return world
}

/** The shop with functions that post templates, and deploy the blueprint `search` as `find`. */
export async function startBlueprintShop(...given: Parameters<typeof startShop>) {
  const world = await startShop(...given)
  const idOfSlug = async (slug: string) => (await world.ask('get', `${BLUEPRINTS}/${slug}`)).body.id as string
  return {
    ...world,
    idOfSlug,
    post: (content: string, path = 'templates') => world.ask('post', `${BLUEPRINTS}/${path}`).send({ content }),
    deploy: async (body: object = {}, query = '', as = OWNER) =>
      world
        .ask('post', `${DEPLOY}${query}`, as)
        .send({ blueprintId: await idOfSlug('search'), clusterId: CLUSTER, name: 'find', ...body }),
  }
}
