import { writeFile } from 'node:fs/promises'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { expect } from 'chai'
import { CommandsAtServer } from '../../test/worlds/commandsAtServer.ts'
import { EXIT } from './failure.ts'

const HERE = ['-b', '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391', '-g', 'shop']

describe('exit codes of commands that write', () => {
  let commands: CommandsAtServer
  /** The status of responses to writes, and to reads. */
  let status = 200
  let reads = 404

  before(async () => {
    const listener: RequestListener = ({ method }, response) =>
      response
        .writeHead(method === 'GET' ? reads : status, { 'content-type': 'application/json' })
        .end(JSON.stringify({ error: 'No.', code: 'x' }))
    commands = await CommandsAtServer.start(listener)
  })
  after(() => commands.stop())

  async function run(command: string, manifest: string): Promise<number> {
    const file = join(commands.home, 'a.yaml')
    await writeFile(file, manifest)
    const words: Record<string, string[]> = {
      create: ['create', 'vc', 'products', '-d', '{"replicass":1}'],
      delete: ['delete', 'vc', 'products'],
      apply: ['apply', '-f', file],
      diff: ['diff', '-f', file],
    }
    return commands.freehold(...(words[command] ?? []), ...HERE)
  }
  const manifest = (kind: string) =>
    `{apiVersion: data.freehold.dev/v1alpha1, kind: ${kind}, metadata: {name: products}, spec: {replicas: 1}}`

  const cases: [sentence: string, said: [status: number, kind: string], codes: Record<string, number>][] = [
    [
      'are EXIT.usage if a field is invalid (400)',
      [400, 'VectorCluster'],
      { create: EXIT.usage, delete: EXIT.usage, apply: EXIT.usage },
    ],
    ['are EXIT.usage if the kind is unknown', [200, 'VectorClustr'], { apply: EXIT.usage, diff: EXIT.usage }],
    [
      'are EXIT.refused if a permission is missing (403)',
      [403, 'VectorCluster'],
      { create: EXIT.refused, delete: EXIT.refused, apply: EXIT.refused },
    ],
    [
      'are EXIT.refused on a conflict (409)',
      [409, 'VectorCluster'],
      { create: EXIT.refused, delete: EXIT.refused, apply: EXIT.refused },
    ],
    [
      'are EXIT.notSignedIn without a valid sign-in (401)',
      [401, 'VectorCluster'],
      { create: EXIT.notSignedIn, delete: EXIT.notSignedIn, apply: EXIT.notSignedIn },
    ],
  ]
  for (const [sentence, [answer, kind], codes] of cases)
    for (const [command, code] of Object.entries(codes))
      it(`${sentence}: ${command}`, async () => {
        status = answer
        expect(await run(command, manifest(kind)), commands.said).to.equal(code)
      })

  it('are EXIT.usage if a read of diff is forbidden, and 1 for a difference', async () => {
    reads = 403
    expect(await run('diff', manifest('VectorCluster')), commands.said).to.equal(EXIT.usage)
    reads = 404
    expect(await run('diff', manifest('VectorCluster')), commands.said).to.equal(1)
  })
})
