// A stdio server without a dependency, of the initialize era. Plain JavaScript: its start is what is measured, and a type
// stripper would lengthen it. TOOLS: how many tools.
const tools = Array.from({ length: Number(process.env.TOOLS || 3) }, (_, index) => ({
  name: `tool_${index}`,
  description: `Tool number ${index}`,
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
}))
const say = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
let rest = ''
process.stdin.setEncoding('utf8').on('data', (chunk) => {
  rest += chunk
  for (let end = rest.indexOf('\n'); end >= 0; end = rest.indexOf('\n')) {
    const line = rest.slice(0, end)
    rest = rest.slice(end + 1)
    if (line.trim() !== '') answer(JSON.parse(line))
  }
})

function answer({ id, method, params }) {
  if (id === undefined) return
  switch (method) {
    case 'initialize':
      return say({
        id,
        result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: 'echo', version: '1' },
        },
      })
    case 'ping':
      return say({ id, result: {} })
    case 'tools/list':
      return say({ id, result: { tools } })
    case 'tools/call':
      return say({
        id,
        result: { content: [{ type: 'text', text: params.arguments?.text ?? '' }] },
      })
    default:
      return say({ id, error: { code: -32601, message: 'Method not found' } })
  }
}
