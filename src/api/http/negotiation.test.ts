import { expect } from 'chai'
import { startWithOneOfEachKind } from '../../../test/worlds/oneOfEachKind.ts'
import { SERVED_ROUTES } from '../index.ts'
import { mediaTypesOf, negotiate } from './negotiation.ts'
import type { Route } from './route.ts'

const LOGS = SERVED_ROUTES.find(({ path }) => path.endsWith('/jobs/{jobName}/logs')) as Route
const CHOICES = SERVED_ROUTES.filter((route) => mediaTypesOf(route).length > 1)

describe('negotiate', () => {
  const choices: [accept: string | undefined, chosen: string][] = [
    [undefined, 'text/plain'],
    ['*/*', 'text/plain'],
    ['text/*', 'text/plain'],
    ['application/json', 'application/json'],
    ['APPLICATION/JSON', 'application/json'],
    ['application/*', 'application/json'],
    ['application/json;charset=utf-8', 'application/json'],
    ['text/plain, application/json;q=0', 'text/plain'],
    ['text/plain, application/json;q=0.5', 'text/plain'],
    ['text/plain;q=0.5, application/json', 'application/json'],
    ['application/json, text/plain, */*', 'application/json'],
    ['application/problem+json', 'text/plain'],
  ]
  for (const [accept, chosen] of choices)
    it(`chooses ${chosen} for a log with Accept: ${accept}`, () => expect(negotiate(LOGS, accept)).to.equal(chosen))
})

describe('routes with several media types', () => {
  let server: Awaited<ReturnType<typeof startWithOneOfEachKind>>
  before(async () => {
    server = await startWithOneOfEachKind()
  })
  after(() => server.stop())

  it('include lists and logs', () => {
    expect(CHOICES.map(({ path }) => path)).to.include.members(['/boundaries', LOGS.path])
    expect(CHOICES).to.have.length.above(80)
  })

  for (const { path } of CHOICES)
    it(`vary by Accept, whatever they answer: GET ${path}`, async () => {
      for (const accept of ['application/json', 'image/png'])
        expect((await server.ask('get', server.pathOf(path)).set('accept', accept)).headers.vary, accept).to.equal(
          'Accept',
        )
    })
})
