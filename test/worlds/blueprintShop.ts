import { CLUSTER } from './facadeServer.ts'
import { BOUNDARY, OWNER, startShop } from './shop.ts'

export const BLUEPRINTS = `/boundaries/${BOUNDARY}/resources/blueprints`
const DEPLOY = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/blueprints/search/deploy`

/** The shop with what posts templates, and deploys the blueprint `search` as `find`. */
export async function startBlueprintShop() {
  const world = await startShop()
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
