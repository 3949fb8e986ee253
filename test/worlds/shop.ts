import { request } from '../make/request.ts'
import { bearer, startFacade } from './facadeServer.ts'

export const BOUNDARY = '11111111-1111-4111-8111-111111111111'
export const OWNER = '22222222-2222-4222-8222-222222222222'

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete'

/** The facade with one boundary that has the group `shop`, and its Owner. */
export async function startShop(...given: Parameters<typeof startFacade>) {
  const server = await startFacade(...given)
  server.boundary(BOUNDARY)
  server.group(BOUNDARY, 'shop')
  server.grant(OWNER, 'Owner', `/boundaries/${BOUNDARY}`)
  return {
    ...server,
    /** A request, by the Owner unless another caller is given. */
    ask: (method: Method, path: string, as = OWNER) =>
      request(server.app)[method](path).set('authorization', bearer(as)),
  }
}
