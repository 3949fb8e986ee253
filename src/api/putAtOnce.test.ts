import { expect } from 'chai'
import { postedAtOnce } from '../../test/worlds/atOnce.ts'
import { CLUSTER } from '../../test/worlds/facadeServer.ts'
import { BOUNDARY, startShop } from '../../test/worlds/shop.ts'

const REPOSITORY = `${BOUNDARY}/shop/jobs/report`

/** A PUT replaces the object even if a concurrent one created it a moment before. */
describe('concurrent PUTs that create an object', () => {
  const cases: [what: string, path: string, bodies: object[]][] = [
    [
      'pins of a repository',
      '/v1/internal/registries/pins',
      [1, 2, 3].map((keepLast) => {
        return { boundary: BOUNDARY, repository: REPOSITORY, digests: [], keepLast, expiresAt: '2999-01-01T00:00:00Z' }
      }),
    ],
    [
      'crosslink',
      `/boundaries/${BOUNDARY}/crosslink`,
      [{ enabled: false }, { enabled: true, hubClusterId: CLUSTER }, { enabled: false, hubClusterId: CLUSTER }],
    ],
  ]
  for (const [what, path, bodies] of cases)
    it(`return 200 for all: ${what}`, async () => {
      const server = await startShop()
      const puts = bodies.map((body) => ({ path, body, method: 'put' as const }))
      const answers = await postedAtOnce(server.client, [server.app, await server.another()], puts)
      await server.stop()
      expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    })
})
