import { expect } from 'chai'
import { type Connection, SourceError, type SourcePort } from '../../src/adapters/sources/port.ts'

export type SourceContract = {
  open: () => Promise<{
    port: SourcePort
    connection: Connection
    /** An address of that provider at which nothing listens. */
    nobody: Connection
    repositoryId: string
    /** Breaks the webhook, as a change at the provider could; absent if webhooks cannot be read. */
    breakWebhook?: () => Promise<void> | void
  }>
  hasWebhooks: boolean
  /** Whether its credentials are, or create, a token; true by default. */
  hasTokens?: boolean
  /** Repositories, more than fit on a page of the provider. */
  count: number
}

export async function reasonOf(promise: Promise<unknown>): Promise<string> {
  try {
    await promise
    return 'none'
  } catch (error) {
    if (error instanceof SourceError) return error.reason
    throw error
  }
}

const WEBHOOK = { url: 'https://platform.example.com/webhooks?source=x', secret: 's'.repeat(32) }
const HOSTILE_IDS = ['../1', '1/../../user', '', '1?x=1', '%2e%2e', '1\n', 'x'.repeat(300)]

/** The contract of every provider of code, simulated or not. */
export function sourceContract(title: string, { open, hasWebhooks, hasTokens = true, count }: SourceContract): void {
  describe(title, () => {
    let world: Awaited<ReturnType<SourceContract['open']>>
    before(async () => {
      world = await open()
    })

    it('accepts only valid credentials', async () => {
      const { port, connection } = world
      const { installation } = await port.check(connection)
      expect(installation?.permissions).to.not.deep.equal({})
      const wrong = Object.fromEntries(Object.keys(connection.credentials).map((key) => [key, 'wrong']))
      expect(await reasonOf(port.check({ ...connection, credentials: wrong }))).to.equal('CredentialRejected')
      expect(await reasonOf(port.check(world.nobody))).to.be.oneOf(['Unreachable', 'NotFound'])
    })

    it("sends nothing to a Git host that says to be the platform's own", async () => {
      const { port, connection, repositoryId } = world
      const elsewhere: Connection = { ...connection, provider: 'Circuit' }
      const calls = [port.check(elsewhere), port.repositories(elsewhere), port.token(elsewhere, repositoryId)]
      const more = [port.ensureWebhook(elsewhere, repositoryId, WEBHOOK), port.usage(elsewhere)]
      for (const call of [...calls, ...more]) expect(await reasonOf(call)).to.equal('NotAllowed')
    })

    it('lists and searches repositories', async () => {
      const { port, connection, repositoryId } = world
      const all = await port.repositories(connection)
      expect(all).to.have.length(count)
      expect(new Set(all.map(({ id }) => id)).size).to.equal(count)
      const one = all.find(({ id }) => id === repositoryId)
      expect(one?.cloneUrl).to.match(/^(https:\/\/[^@]+|ssh:\/\/[^:]+:\d+\/.+)$/)
      expect((await port.repositories(connection, one?.name)).map(({ id }) => id)).to.include(repositoryId)
      expect(await port.repositories(connection, 'nothing-of-this-name')).to.deep.equal([])
    })

    it(`returns ${hasTokens ? 'a' : 'no'} token for a repository, and NotFound for hostile ids`, async () => {
      const { port, connection, repositoryId } = world
      for (const id of HOSTILE_IDS) expect(await reasonOf(port.token(connection, id)), id).to.equal('NotFound')
      if (!hasTokens) {
        expect(await reasonOf(port.token(connection, repositoryId))).to.equal('Unsupported')
        return
      }
      const { token, cloneUrl, permissions } = await port.token(connection, repositoryId)
      expect(token).to.not.equal('')
      expect(cloneUrl).to.match(/^https:/)
      expect(permissions).to.have.any.keys('contents', 'repositories')
    })

    if (!hasWebhooks) {
      it('returns Unsupported for webhooks', async () => {
        const { port, connection, repositoryId } = world
        expect(await reasonOf(port.ensureWebhook(connection, repositoryId, WEBHOOK))).to.equal('Unsupported')
      })
      return
    }

    it('creates a webhook once, and repairs it', async () => {
      const { port, connection, repositoryId, breakWebhook } = world
      const first = await port.ensureWebhook(connection, repositoryId, WEBHOOK)
      expect([first.created, first.isActive, first.url]).to.deep.equal([true, true, WEBHOOK.url])
      await breakWebhook?.()
      const second = await port.ensureWebhook(connection, repositoryId, WEBHOOK)
      expect([second.created, second.isActive]).to.deep.equal([false, true])
      expect(second.events).to.not.deep.equal([])
      expect(await reasonOf(port.ensureWebhook(connection, '../1', WEBHOOK))).to.equal('NotFound')
    })
  })
}
