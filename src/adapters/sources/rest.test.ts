import { expect } from 'chai'
import { z } from 'zod'
import { SourceError } from './port.ts'
import { createRestCalls } from './rest.ts'

const CONNECTION = { provider: 'GitLab' as const, baseUrl: 'https://git.example', credentials: {} }

describe('createRestCalls', () => {
  it('stops validating a page at its first invalid item', async () => {
    let judged = 0
    const item = z.unknown().refine(() => {
      judged += 1
      return false
    })
    const fetch = async () => Response.json(Array(5_000).fill({}))
    const rest = createRestCalls(fetch, { base: ({ baseUrl }) => baseUrl, headers: () => ({}), pageSize: 'per_page' })
    const error = await rest(CONNECTION as never)
      .all('/projects', item)
      .catch((thrown: unknown) => thrown)
    expect(error).to.be.instanceOf(SourceError).with.property('reason', 'Unreachable')
    expect(judged).to.equal(1)
  })
})
