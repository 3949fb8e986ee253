import type { ImageConfig } from './image.ts'

/** The result of the last stage of a Containerfile, for the parts of the format that ours uses. */
export type Stage = {
  /** Paths that it copies into its working folder, of the context or of an earlier stage, under their own names. */
  readonly copied: readonly string[]
  readonly config: ImageConfig
}

/**
 * @param args values of its arguments (`--build-arg`); their defaults where absent
 * @throws Error for an instruction that is not known here: the image would be another one
 */
export function lastStageOf(text: string, args: Readonly<Record<string, string>> = {}): Stage {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
  const start = lines.findLastIndex((line) => line.startsWith('FROM '))
  const values = new Map<string, string>()
  const stage = lines.slice(start + 1).filter((line) => {
    const [, name, byDefault] = /^ARG ([A-Z_]+)=(\S+)$/.exec(line) ?? []
    if (name !== undefined) values.set(name, args[name] ?? byDefault ?? '')
    return name === undefined
  })
  const filled = stage.map((line) => line.replaceAll(/\$([A-Z_]+)/g, (text, name) => values.get(name) ?? text))
  return filled.reduce(applyInstruction, { copied: [], config: {} })
}

function applyInstruction({ copied, config }: Stage, line: string): Stage {
  const [instruction, ...words] = line.split(/\s+/)
  const [first = ''] = words
  const configured = (added: ImageConfig): Stage => ({ copied, config: { ...config, ...added } })
  switch (instruction) {
    case 'WORKDIR':
      return configured({ WorkingDir: first })
    case 'USER':
      return configured({ User: first })
    case 'ENV':
      return configured({ Env: [...(config.Env ?? []), ...words] })
    case 'EXPOSE':
      return configured({ ExposedPorts: Object.fromEntries(words.map((port) => [`${port}/tcp`, {}])) })
    case 'ENTRYPOINT':
      return configured({ Entrypoint: JSON.parse(words.join(' ')) })
    case 'COPY':
      return { copied: [...copied, sourceOf(line, words)], config }
    default:
      throw new Error(`The Containerfile says "${line}", which is not known here.`)
  }
}

function sourceOf(line: string, words: readonly string[]): string {
  const [source = '', target, ...others] = words.filter((word) => !word.startsWith('--from='))
  const name = source.split('/').at(-1) ?? ''
  if (others.length > 0 || (target !== name && target !== './'))
    throw new Error(`The Containerfile says "${line}", which gives a path another name.`)
  return name
}
