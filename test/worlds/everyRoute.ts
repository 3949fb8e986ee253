import type { Route } from '../../src/api/http/route.ts'
import { request } from '../make/request.ts'
import { bearer, startFacade } from './facadeServer.ts'

const BOUNDARY = '11111111-1111-4111-8111-111111111111'
const OWNER = '22222222-2222-4222-8222-222222222222'

/**
 * The facade with a boundary, its group and an Owner of the platform, for tests of all routes. Other path parameters
 * name nothing, which is detected later than what such tests are about.
 */
export async function startForRoutes() {
  const server = await startFacade()
  server.boundary(BOUNDARY)
  server.group(BOUNDARY, 'shop')
  server.grant(OWNER, 'Owner', '/')
  return {
    ...server,
    ask({ method, path }: Pick<Route, 'method' | 'path'>) {
      const at = path
        .replace('{boundaryId}', BOUNDARY)
        .replace(/\{resourceGroup(Name)?\}/, 'shop')
        .replaceAll(/\{[^}]+\}/g, 'nothing')
      const agent = request(server.app)
      const call = { POST: agent.post, PUT: agent.put, PATCH: agent.patch, DELETE: agent.delete }[method as 'POST']
      return call.call(agent, at).set('authorization', bearer(OWNER))
    },
  }
}
