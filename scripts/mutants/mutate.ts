import { type Node, parseSync } from 'oxc-parser'

/** A small change of a file. `from` and `to` are the text before and after. */
export type Mutant = { readonly id: number; readonly line: number; readonly from: string; readonly to: string }

const OPPOSITES = new Map(
  [
    ['<', '<='],
    ['>', '>='],
    ['+', '-'],
    ['*', '/'],
    ['some', 'every'],
    ['startsWith', 'endsWith'],
    ['min', 'max'],
  ].flatMap(
    ([one = '', other = '']) =>
      [
        [one, other],
        [other, one],
      ] as const,
  ),
)
/** Methods whose result has the type of their object, so that a call can be left out. */
const DROPPED =
  /^(filter|slice|(to)?[sS]orted|sort|(to)?[rR]eversed?|trim|toLowerCase|toUpperCase|replace|replaceAll|min|max|length|int|regex|refine|superRefine|check|catch|strict)$/
/** What these properties hold is text for people. */
const TEXTS = /^(description|summary|message|title|documentation|example|examples)$/
const COMPARISONS = /^([<>]=?|[!=]==?|in|instanceof)$/
const LOGS = /^(console|log|logger|this\.#?log)\b/

type Children = Readonly<Record<string, unknown>>
const isNode = (value: unknown): value is Node => typeof (value as Node | null)?.type === 'string'
const nodesIn = (value: unknown): Node[] => (Array.isArray(value) ? value : [value]).filter(isNode)

const isText = (node: Node) => node.type === 'Property' && 'name' in node.key && TEXTS.test(String(node.key.name))

/** Syntax whose parts are not expressions, or may not become one. */
function partsOf(node: Node): Node[] {
  if (node.type.startsWith('TS') || /^(Import|ExportAll|TaggedTemplate)/.test(node.type)) {
    return /^TS(As|Satisfies|NonNull)/.test(node.type) ? nodesIn((node as unknown as Children).expression) : []
  }
  if (node.type === 'ExportNamedDeclaration') return nodesIn(node.declaration)
  if (node.type === 'ExpressionStatement' && 'directive' in node && node.directive !== null) return []
  if (node.type === 'Property' && (node.shorthand || isText(node))) return []
  const isPlain = 'computed' in node && !node.computed
  return Object.entries(node)
    .filter(([key]) => !(isPlain && (key === 'key' || key === 'property')) && !(key === 'property' && 'object' in node))
    .flatMap(([, value]) => nodesIn(value))
    .toSorted((one, other) => one.start - other.start)
}

/**
 * All mutants of a file, and its code with all of them: `__mutant(id)` says whether one is active.
 */
export function mutate(path: string, text: string): { mutants: Mutant[]; code: string } {
  const mutants: Mutant[] = []
  const inChains = new Set<Node>()
  const textOf = ({ start, end }: { start: number; end: number }) => text.slice(start, end)

  function add(node: Node, to: string): number {
    const line = text.slice(0, node.start).split('\n').length
    return mutants.push({ id: mutants.length + 1, line, from: textOf(node), to })
  }

  function render(node: Node, parent?: Node): string {
    let at = node.start
    let out = ''
    if (node.type === 'ChainExpression') noteChain(node.expression)
    for (const part of partsOf(node)) {
      out += text.slice(at, part.start) + render(part, node)
      at = part.end
    }
    out += text.slice(at, node.end)
    if (isRemovable(node, parent)) {
      const id = add(node, '')
      // In braces, so that a following `else` stays with its own `if`.
      if (node.type === 'ExpressionStatement') return `{ if (!__mutant(${id})) { ${out} } }`
      const [empty, whole] = parent?.type === 'ArrayExpression' ? ['[]', `[${out}]`] : ['{}', `{ ${out} }`]
      return `...(__mutant(${id}) ? ${empty} : ${whole})`
    }
    const others = [...new Set(alternatives(node, parent))].filter((other) => other !== textOf(node))
    const choices = others.map((other) => `__mutant(${add(node, other)}) ? (${other}) : `)
    return choices.length === 0 ? out : `(${choices.join('')}(${out}))`
  }

  /** A part of `a?.b.c()` cannot stand in parentheses: what follows would no longer be skipped. */
  function noteChain(node: Node): void {
    inChains.add(node)
    const inner =
      node.type === 'CallExpression' ? node.callee : node.type === 'MemberExpression' ? node.object : undefined
    if (inner !== undefined) noteChain(inner)
  }

  function isRemovable(node: Node, parent: Node | undefined): boolean {
    if (node.type === 'ExpressionStatement')
      return (
        !('directive' in node && node.directive !== null) && !/^super\(/.test(textOf(node)) && !LOGS.test(textOf(node))
      )
    if (parent?.type === 'ArrayExpression') return node.type !== 'ArrayExpression' && parent.elements.length > 0
    if (parent?.type !== 'ObjectExpression') return false
    return (
      node.type === 'SpreadElement' ||
      (node.type === 'Property' && !node.method && node.kind === 'init' && !isText(node))
    )
  }

  function alternatives(node: Node, parent: Node | undefined): string[] {
    switch (node.type) {
      case 'LogicalExpression':
        return node.operator === '??' ? [textOf(node.left)] : [textOf(node.left), textOf(node.right)]
      case 'BinaryExpression':
        return ofBinary(node, OPPOSITES.get(node.operator), textOf(node.left), textOf(node.right))
      case 'UnaryExpression':
        return node.operator === '!' ? ['true', 'false'] : []
      case 'Literal':
        return ofLiteral(node, parent)
      case 'TemplateLiteral':
        return ofTemplate(node)
      case 'CallExpression':
        return inChains.has(node) ? [] : [...ofCall(node), ...ofTest(node, parent)]
      case 'Identifier':
      case 'MemberExpression':
        return inChains.has(node) ? [] : ofTest(node, parent)
      default:
        return []
    }
  }

  function ofTest(node: Node, parent: Node | undefined): string[] {
    return parent !== undefined && 'test' in parent && parent.test === node ? ['true', 'false'] : []
  }

  function ofBinary(
    node: Extract<Node, { type: 'BinaryExpression' }>,
    opposite: string | undefined,
    left: string,
    right: string,
  ) {
    const isTextual = node.operator === '+' && /['"`]/.test(left[0] + right.slice(-1))
    const swapped = opposite === undefined || isTextual ? [] : [`${left} ${opposite} ${right}`]
    return COMPARISONS.test(node.operator) ? [...swapped, 'true', 'false'] : swapped
  }

  function ofLiteral(node: Node, parent: Node | undefined): string[] {
    const raw = textOf(node)
    const { value } = node as { value?: unknown }
    if (typeof value === 'boolean') return [String(!value)]
    if (typeof value === 'number') return parent?.type === 'MemberExpression' ? [] : [String(value + 1)]
    if (typeof value === 'string') return /\s/.test(value) ? [] : [value === '' ? "'mutant'" : "''"]
    if (!('regex' in node)) return []
    return [
      raw.replace(/^\/\^/, '/'),
      raw.replace(/(?<!\\)\$(\/[a-z]*)$/, '$1'),
      raw.replace(/i([a-z]*)$/, '$1'),
    ].filter((other) => !other.startsWith('//'))
  }

  function ofTemplate(node: Extract<Node, { type: 'TemplateLiteral' }>): string[] {
    if (node.quasis.some(({ value }) => /\s/.test(value.raw))) return []
    return node.expressions.map(
      ({ start, end }) =>
        `${text.slice(node.start, start).replace(/\$\{\s*$/, '')}${text.slice(end, node.end).replace(/^\s*\}/, '')}`,
    )
  }

  function ofCall({ callee, ...node }: Extract<Node, { type: 'CallExpression' }>): string[] {
    if (callee.type !== 'MemberExpression' || callee.computed || !('name' in callee.property)) return []
    const { name } = callee.property
    const opposite = OPPOSITES.get(name)
    const isMath = textOf(callee.object) === 'Math'
    const swapped =
      opposite === undefined || (!isMath && /^m/.test(name))
        ? []
        : [`${textOf(callee.object)}.${opposite}${text.slice(callee.end, node.end)}`]
    return DROPPED.test(name) && !isMath ? [...swapped, textOf(callee.object)] : swapped
  }

  const { program, errors } = parseSync(path, text)
  if (errors.length > 0) throw new Error(`${path} cannot be parsed: ${errors[0]?.message}`)
  return { code: render(program), mutants }
}
