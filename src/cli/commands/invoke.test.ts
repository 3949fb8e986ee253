import { json } from 'node:stream/consumers'
import { expect } from 'chai'
import { CommandsAtServer } from '../../../test/worlds/commandsAtServer.ts'

const BOUNDARY = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const HERE = ['-b', BOUNDARY, '-g', 'shop']
const WORDS = ['invoke', 'function', 'hello', '-p', 'namespaceName=calls', ...HERE]
const ANSWER = {
  statusCode: 200,
  headers: {},
  body: 'Hello\n',
  encoding: 'Utf8',
  isTruncated: false,
  isColdStart: false,
  durationMilliseconds: 3.5,
}

describe('freehold invoke', () => {
  let commands: CommandsAtServer
  let asked: unknown[]
  let answer: object

  before(async () => {
    commands = await CommandsAtServer.start(async (request, response) => {
      asked.push([request.method, request.url, await json(request)])
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
    })
  })
  beforeEach(() => {
    asked = []
    answer = ANSWER
  })
  after(() => commands.stop())

  it('sends method, path, headers and body, and prints the status and the body', async () => {
    const given = ['--method', 'put', '--path', '/a?b=1', '-d', '{"a":1}', '-H', 'content-type: application/json']
    expect(await commands.freehold(...WORDS, ...given)).to.equal(0)
    const path = `/boundaries/${BOUNDARY}/resourcegroups/shop/resources/functionnamespaces/calls/functions/hello/invoke`
    const call = { method: 'PUT', path: '/a?b=1', headers: { 'content-type': 'application/json' }, body: '{"a":1}' }
    expect(asked).to.deep.equal([['POST', path, call]])
    expect(commands.said).to.equal('function hello: 200 in 3.5 ms\nHello\n')
  })

  it('fails if the function fails, and says that the body was truncated', async () => {
    answer = { ...ANSWER, statusCode: 500, isTruncated: true, isColdStart: true }
    expect(await commands.freehold(...WORDS)).to.equal(6)
    expect(commands.said).to.include('500 in 3.5 ms, with the start of a copy').and.to.include('was longer')
  })

  it('replaces control characters at a terminal and refuses binary bodies there', async () => {
    answer = { ...ANSWER, body: 'a\u001b[2Jb\n\tc' }
    expect(await commands.atTerminal(...WORDS)).to.equal(0)
    expect(commands.said).to.include('a�[2Jb\n\tc\n')
    answer = { ...ANSWER, body: '//4=', encoding: 'Base64' }
    expect(await commands.atTerminal(...WORDS)).to.equal(2)
  })

  it('rejects other kinds than functions', async () => {
    expect(await commands.freehold('invoke', 'app', 'shop', ...HERE)).to.equal(2)
    expect(commands.said).to.include('cannot be called: functions can')
  })
})
