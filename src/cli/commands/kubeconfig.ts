import { resolve } from 'node:path'
import { dump, load } from 'js-yaml'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import type { Command } from '../command.ts'
import { localTrouble } from '../failure.ts'
import { readIfThere, writePrivate } from '../files.ts'
import { ENTRY, kubeconfigFor } from '../kubeconfig.ts'
import { PLACE_OPTIONS, placeOf } from '../session.ts'
import { readSettings } from '../settings.ts'

export const kubeconfig: Command = {
  name: 'kubeconfig',
  summary: 'Print a kubeconfig with which kubectl acts as the signed-in caller',
  options: [
    {
      long: 'file',
      short: 'f',
      value: 'FILE',
      summary: 'Write it there; any other kubeconfig is left alone',
    },
    ...PLACE_OPTIONS,
  ],
  details:
    'Its namespace is that of the group, or of the boundary. It holds no secret: kubectl runs `freehold token` when it\nneeds a token.',
  async run(input, { places, program, terminal }) {
    const settings = await readSettings(places.settings)
    const { kubernetes } = settings
    if (kubernetes === undefined) {
      throw localTrouble('The API server is not known: say it with `freehold setup --kubernetes-url URL`.')
    }
    const { boundary, group } = placeOf(input, settings)
    const text = dump(kubeconfigFor({ kubernetes, program, namespace: namespaceOf(boundary, group) }), {
      lineWidth: -1,
    })
    const file = input.text('file')
    if (file === undefined) {
      terminal.out(text)
      return
    }
    const path = resolve(file)
    const before = await readIfThere(path)
    if (before !== undefined && !isOurs(before)) {
      throw localTrouble(`${path} holds something else: name another file, and both in KUBECONFIG.`)
    }
    await writePrivate(path, text)
    terminal.err(`Use it with \`export KUBECONFIG=${path}\`.\n`)
  },
}

function namespaceOf(boundary: string | undefined, group: string | undefined): string | undefined {
  if (boundary === undefined) return undefined
  return group === undefined ? boundaryNamespace(boundary) : groupNamespace(boundary, group)
}

/** Whether it holds our entry and nothing beside it. */
function isOurs(text: string): boolean {
  let content: unknown
  try {
    content = load(text)
  } catch {
    return false
  }
  const { clusters, users, contexts } = (content ?? {}) as Record<string, unknown>
  return [clusters, users, contexts].every(
    (entries) => Array.isArray(entries) && entries.length === 1 && entries[0]?.name === ENTRY,
  )
}
