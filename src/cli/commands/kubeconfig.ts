import { resolve } from 'node:path'
import { dump, load } from 'js-yaml'
import { boundaryNamespace, groupNamespace } from '../../core/names.ts'
import { requireBoundaryId } from '../boundaryNames.ts'
import type { Command } from '../command.ts'
import { localFailure } from '../failure.ts'
import { readFileIfPresent, writePrivate } from '../files.ts'
import { buildKubeconfig, isOwnKubeconfig } from '../kubeconfig.ts'
import { SCOPE_OPTIONS, selectedScope } from '../session.ts'
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
    ...SCOPE_OPTIONS,
  ],
  details:
    'Its namespace is that of the group, or of the boundary. It contains no secret: kubectl runs `freehold token` when it\nneeds a token. It is for the platform that is set up now, and gets no token for another one.',
  async run(input, { paths, program, terminal }) {
    const settings = await readSettings(paths.settings)
    const { facadeUrl, kubernetes } = settings
    if (kubernetes === undefined) {
      throw localFailure(
        'The API server is not known: set it with `freehold setup --kubernetes-url URL --kubernetes-authority FILE`.',
      )
    }
    const { boundary, group } = selectedScope(input, settings)
    const namespace = namespaceOf(boundary, group)
    const built = buildKubeconfig({ facadeUrl, kubernetes, program, namespace })
    const text = dump(built, { lineWidth: -1 })
    if (namespace === undefined) {
      terminal.err(
        'It names no namespace, as no boundary is known: name one with `--boundary`, or kubectl takes `default`.\n',
      )
    }
    const file = input.text('file')
    if (file === undefined) {
      terminal.out(text)
      return
    }
    const path = resolve(file)
    const before = await readFileIfPresent(path)
    if (before !== undefined && !isOwnKubeconfig(contentOf(before))) {
      throw localFailure(`${path} contains something else: write another file, and name both in KUBECONFIG.`)
    }
    await writePrivate(path, text)
    terminal.err(`Use it with \`export KUBECONFIG=${path}\`.\n`)
  },
}

function namespaceOf(boundary: string | undefined, group: string | undefined): string | undefined {
  if (boundary === undefined) return undefined
  requireBoundaryId(boundary)
  return group === undefined ? boundaryNamespace(boundary) : groupNamespace(boundary, group)
}

function contentOf(text: string): unknown {
  try {
    return load(text)
  } catch {
    return undefined
  }
}
