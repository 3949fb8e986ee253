/**
 * Path templates of the interface. `{B}` and `{RG}` stand for the boundary and the resources of a group; every other
 * `{name}` is one path segment, except a final `{path}`, which takes the rest of the path (documentation files).
 */
export const BOUNDARY_PATH = '/boundaries/{boundaryId}'
export const GROUP_PATH = '/boundaries/{boundaryId}/resourcegroups/{resourceGroupName}/resources'

type Expand<Path extends string> = Path extends `{RG}${infer Rest}`
  ? `${typeof GROUP_PATH}${Rest}`
  : Path extends `{B}${infer Rest}`
    ? `${typeof BOUNDARY_PATH}${Rest}`
    : Path

type Names<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}` ? Name | Names<Rest> : never

/** The parameters of a template: `PathParameters<'{RG}/jobs/{jobName}'>` is boundaryId, resourceGroupName or jobName. */
export type PathParameters<Path extends string> = string extends Path ? string : Names<Expand<Path>>

/** Expands `{B}` and `{RG}`. */
export function expandPath(path: string): string {
  return path.replace(/^\{RG\}/, GROUP_PATH).replace(/^\{B\}/, BOUNDARY_PATH)
}

export type TemplateSegment = { readonly kind: 'literal' | 'parameter' | 'rest'; readonly text: string }

/** Templates are constants in the code, so the cache is bounded; each is needed several times. */
const parsedTemplates = new Map<string, readonly TemplateSegment[]>()

/** Returns the segments of an expanded template. Throws TypeError if a segment mixes text and parameter. */
export function templateSegments(path: string): readonly TemplateSegment[] {
  const segments = parsedTemplates.get(path) ?? parsedSegments(path)
  parsedTemplates.set(path, segments)
  return segments
}

function parsedSegments(path: string): TemplateSegment[] {
  if (!path.startsWith('/')) throw new TypeError(`The path ${path} does not begin with a slash.`)
  const parts = path.slice(1).split('/')
  return parts.map((part, index) => {
    const name = /^\{([A-Za-z]+)\}$/.exec(part)?.[1]
    if (name === undefined) {
      if (!/^\.?[A-Za-z0-9][A-Za-z0-9.:-]*$/.test(part))
        throw new TypeError(`"${part}" in ${path} is not a literal segment.`)
      return { kind: 'literal', text: part }
    }
    return { kind: name === 'path' && index === parts.length - 1 ? 'rest' : 'parameter', text: name }
  })
}

/** Returns the level of a path in the scope tree. */
export function levelOfPath(path: string): 'root' | 'boundary' | 'resourceGroup' | 'resource' {
  const parts = path.slice(1).split('/')
  if (parts[0] !== 'boundaries' || parts[1] !== '{boundaryId}') return 'root'
  if (parts[2] !== 'resourcegroups' || parts[3] === undefined) return 'boundary'
  return parts[4] === 'resources' && parts[6]?.startsWith('{') ? 'resource' : 'resourceGroup'
}
