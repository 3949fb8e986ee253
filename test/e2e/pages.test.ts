// @alone @longest: starts and stops a platform with the commands of README.md.

import { spawnSync } from 'node:child_process'
import { mkdtemp, readdir, rm, symlink } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { cachedAt } from '../../scripts/controlplane/cache.ts'
import { seedStore } from '../../scripts/test/seed.ts'
import type { Block } from '../pages/blocks.ts'
import { unseenLine } from '../pages/blocks.ts'
import { pagesWithCommands, ROOT } from '../pages/pages.ts'
import { PastedShell, SHELLS, type ShellName } from '../pages/shell.ts'

/** The other pages assume that the README was followed. */
const AFTER_README = 'export PATH="$PWD/.freehold:$PATH" KUBECONFIG="$PWD/.freehold/kubeconfig"'
/** Pages that name the boundary of the first example assume that it exists, with its group. */
const EXAMPLE = '5d0f8a52-3c1e-4b7a-9f60-2e8c41d7b391'
const MAKE_EXAMPLE = `for step in 10-boundary 20-group; do
  kubectl apply -f examples/$step
  kubectl wait --for=condition=Ready -f examples/$step --timeout=5m
done`

const pages = pagesWithCommands()
const readme = pages.find(({ path }) => path === 'README.md')?.blocks ?? []
const others = pages.filter(({ path, blocks }) => path !== 'README.md' && blocks.some(isRun))

function isRun({ notRun }: Block): boolean {
  return notRun === undefined
}

describe('commands of the documentation', () => {
  let folder: string
  const shells: PastedShell[] = []
  const [up, ...rest] = readme
  const down = rest.at(-1)

  /** A tree like a fresh clone, with settings of its own: nothing of the user is read or written. */
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'freehold-pages-'))
    const names = (await readdir(ROOT)).filter((name) => !['.freehold', '.git'].includes(name))
    await Promise.all(names.map((name) => symlink(join(ROOT, name), join(folder, name))))
    expect(up?.commands).to.match(/^npm run up/)
    expect(down?.commands).to.equal('npm run down')
    // up.test.ts starts with an empty store; here CRDs would be most of the start.
    await seedStore(join(folder, '.freehold'))
    await paste(open('bash'), 'README.md', [up as Block])
  })
  after(async () => {
    const { output } = await open('bash').paste(down?.commands ?? '')
    for (const shell of shells) shell.end()
    await rm(folder, { recursive: true, force: true })
    expect(output).to.contain('Stopped the platform')
  })

  function open(name: ShellName): PastedShell {
    const own = { XDG_CONFIG_HOME: join(folder, '.config'), XDG_STATE_HOME: join(folder, '.state') }
    const cache = join(cachedAt('.'), '..')
    const shell = new PastedShell(name, folder, { ...process.env, ...own, XDG_CACHE_HOME: cache })
    shells.push(shell)
    return shell
  }

  async function paste(shell: PastedShell, path: string, blocks: readonly Block[]): Promise<void> {
    for (const { line, commands, seen } of blocks.filter(isRun)) {
      const { output, failures } = await shell.paste(commands)
      const place = `${path}, line ${line}:\n${commands}\n${output}`
      expect(failures, place).to.deep.equal([])
      expect(unseenLine(seen, output), `is not seen: ${place}`).to.equal(undefined)
    }
  }

  for (const name of Object.keys(SHELLS) as ShellName[]) {
    it(`README.md runs from top to bottom in ${name}`, async function () {
      if (spawnSync(name, ['-c', 'true']).status !== 0) {
        console.log(`    skipped: there is no ${name} here`)
        this.skip()
      }
      await paste(open(name), 'README.md', readme.slice(0, -1))
    })
  }

  for (const { path, blocks } of others) {
    const left = blocks.length - blocks.filter(isRun).length
    it(`${path} runs${left === 0 ? '' : `, but for ${left} of ${blocks.length} blocks`}`, async () => {
      const shell = open('bash')
      const isExample = blocks.some((block) => isRun(block) && block.commands.includes(EXAMPLE))
      const first = await shell.paste(isExample ? `${AFTER_README}\n${MAKE_EXAMPLE}` : AFTER_README)
      expect(first.failures).to.deep.equal([])
      await paste(shell, path, blocks)
    })
  }
})
