import { expect } from 'chai'
import { BOUNDARY as B, startShop } from '../../../test/worlds/shop.ts'

const GROUPS = `/boundaries/${B}/providers/authorization/groups`

describe('PATCH of a group', () => {
  let server: Awaited<ReturnType<typeof startShop>>
  beforeEach(async () => {
    server = await startShop()
  })
  afterEach(() => server.stop())

  it('rejects null for displayName, and clears description and memberIds with null', async () => {
    const { body } = await server.ask('post', GROUPS).send({ displayName: 'Team', description: 'Who builds' })
    const change = (patch: object) => server.ask('patch', `${GROUPS}/${body.id}`).send(patch)
    const nameless = await change({ displayName: null })
    expect([nameless.status, nameless.body.code]).to.deep.equal([400, 'MODEL_BINDING_FAILED'])
    expect((await change({ description: null, memberIds: null })).body).to.deep.include({
      displayName: 'Team',
      description: null,
      memberIds: [],
    })
  })

  it('rejects a name that looks like that of another group, as its creation does', async () => {
    await server.ask('post', GROUPS).send({ displayName: 'Caf\u00e9' })
    const { body } = await server.ask('post', GROUPS).send({ displayName: 'Team' })
    for (const displayName of ['Cafe\u0301', 'Caf\u200c\u00e9']) {
      const answers = [
        await server.ask('patch', `${GROUPS}/${body.id}`).send({ displayName }),
        await server.ask('post', GROUPS).send({ displayName }),
      ]
      for (const { status, body } of answers) expect([status, body.code]).to.deep.equal([409, 'already_exists'])
    }
  })
})
