import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { parseTerminationMessage } from '../../src/contracts/builds/pod.ts'
import { WITHIN } from './ownProcess.ts'

type Fetched = { url: string; entries: Readonly<Record<string, string>>; certificateAuthority?: string | undefined }

/**
 * Runs the program of builds as its first container does, with git and ssh of this machine.
 *
 * @param above the folder for the simulated pod
 * @param given the repository, whose branch is `trunk`, and the entries of the Secret of the build
 */
export async function fetchedSource(above: string, { url, entries, certificateAuthority }: Fetched) {
  const root = await mkdtemp(join(above, 'pod-'))
  for (const folder of ['run/build', 'work', 'dev', 'tmp']) await mkdir(join(root, folder), { recursive: true })
  const order = {
    source: { kind: 'Git', url, branch: 'trunk' },
    recipe: { purpose: 'Service', rootPath: '/', port: 8080, variables: [], environmentVersion: '' },
    settings: { registry: 'registry.example.test', isRegistryInsecure: false, certificateAuthority },
  }
  const all = { ...entries, 'order.json': JSON.stringify(order) }
  for (const [name, value] of Object.entries(all))
    await writeFile(join(root, 'run/build', name), value, { mode: 0o600 })
  const program = [join(import.meta.dirname, '../../src/adapters/builds/agent/main.ts'), 'source', root]
  const child = spawn(process.execPath, program, { ...WITHIN, stdio: ['ignore', 'pipe', 'inherit'] })
  const [log] = await Promise.all([text(child.stdout), once(child, 'close')])
  const word = parseTerminationMessage(await readFile(join(root, 'dev/termination-log'), 'utf8').catch(() => ''))
  return { word, log, files: await readdir(join(root, 'work/source')) }
}
