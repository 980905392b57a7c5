// SPDX-License-Identifier: MIT
//
// Memory of a package's op: in which form its tensors arrive and leave, and objects of its own.
// An object describes a tensor: shape, type, layout, and whether it is a buffer or images; extents
// of images follow from these (docs/gpu-options.md).
#include "backend/gpu/package_impl.h"

#include <string.h>

#define MOST_OBJECTS 256u
#define MOST_ELEMENTS 64u // images of an aggregated object

static qrn_status reject(const qrn_gpu_instance *in, const char *what) {
    return qrn_gpu_package_reject(in, what);
}

// --- forms

typedef struct layout {
    uint8_t order;
    bool deep;    // a dimension D stands before H
    bool by_four; // also in buffers
} layout;

static bool find_layout(QnnGpu_MemoryLayout_t code, layout *out) {
    static const layout known[] = {[QNN_GPU_MEM_LAYOUT_HWC] = {QRN_GPU_NDHWC, false, false},
                                   [QNN_GPU_MEM_LAYOUT_HCW] = {QRN_GPU_NDHCW, false, false},
                                   [QNN_GPU_MEM_LAYOUT_CHW] = {QRN_GPU_NCDHW, false, false},
                                   [QNN_GPU_MEM_LAYOUT_C_HWC4] = {QRN_GPU_NCDHW, false, true},
                                   [QNN_GPU_MEM_LAYOUT_DHWC] = {QRN_GPU_NDHWC, true, false},
                                   [QNN_GPU_MEM_LAYOUT_CDHW] = {QRN_GPU_NCDHW, true, false}};
    if (code == QNN_GPU_MEM_LAYOUT_UNDEFINED)
        code = QNN_GPU_MEM_LAYOUT_HWC;
    if ((unsigned)code >= sizeof known / sizeof known[0])
        return false;
    *out = known[code];
    return true;
}

static bool find_kind(QnnGpu_MemoryObjectType_t code, uint8_t *kind, bool *tiled) {
    *tiled = code == QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D ||
             code == QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D_ARRAY;
    switch (code) {
    case QNN_GPU_MEM_OBJ_TYPE_HOST:
    case QNN_GPU_MEM_OBJ_TYPE_BUFFER:
    case QNN_GPU_MEM_OBJ_TYPE_IMAGE2D:
    case QNN_GPU_MEM_OBJ_TYPE_IMAGE2D_ARRAY:
    case QNN_GPU_MEM_OBJ_TYPE_IMAGE1D_BUFFER:
        *kind = (uint8_t)code; // the numbers are the API's
        return true;
    case QNN_GPU_MEM_OBJ_TYPE_UNCLAIMED:
        *kind = QRN_GPU_OBJECT_BUFFER;
        return true;
    case QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D:
        *kind = QRN_GPU_OBJECT_IMAGE2D;
        return true;
    case QNN_GPU_MEM_OBJ_TYPE_AGGREGATED_IMAGE2D_ARRAY:
        *kind = QRN_GPU_OBJECT_IMAGE2D_ARRAY;
        return true;
    default:
        return false;
    }
}

// The dimension of a form that dimension `d` of a shape belongs to.
static uint32_t form_dim(uint32_t rank, uint32_t d, bool deep) {
    uint32_t from_end = rank - 1 - d, named = deep ? 4 : 3;
    return from_end < named ? QRN_GPU_C - from_end : QRN_GPU_N;
}

// How far apart tiles begin, for each dimension of a form: its size where it is not split.
static qrn_status read_tiles(const qrn_gpu_instance *in, const QnnGpu_MemoryObject_t *o,
                             const qrn_shape *s, bool deep, const uint32_t *dims, uint32_t *tile) {
    memcpy(tile, dims, QRN_GPU_FORM_DIMS * sizeof *tile);
    for (uint32_t d = 0; o->offsets && d < s->rank; d++) {
        uint32_t k = form_dim(s->rank, d, deep), step = o->offsets[d];
        if (step == 0 || step >= s->dims[d])
            continue;
        if (k == QRN_GPU_N && dims[QRN_GPU_N] != s->dims[d])
            return reject(in, "splits a memory object along one of several batch dimensions, which "
                              "is not supported");
        tile[k] = step;
    }
    return QRN_OK;
}

static qrn_status make_elements(const qrn_gpu_instance *in, const uint32_t *tile,
                                qrn_gpu_user_form *f) {
    uint32_t parts[QRN_GPU_FORM_DIMS], n = 1;
    for (uint32_t d = 0; d < QRN_GPU_FORM_DIMS; d++) {
        parts[d] = (f->dims[d] + tile[d] - 1) / tile[d];
        if (parts[d] > MOST_ELEMENTS || (n *= parts[d]) > MOST_ELEMENTS)
            return reject(in, "has an aggregated object of more than 64 images");
    }
    f->elements = qrn_arena_alloc(in->arena, n * sizeof *f->elements);
    if (!f->elements)
        return qrn_gpu_package_no_memory(in);
    f->n_elements = n;
    for (uint32_t i = 0; i < n; i++) {
        qrn_gpu_element *e = &f->elements[i];
        uint32_t rest = i;
        for (uint32_t d = QRN_GPU_FORM_DIMS; d-- > 0;) {
            e->origin[d] = rest % parts[d] * tile[d];
            rest /= parts[d];
            uint32_t left = f->dims[d] - e->origin[d];
            e->dims[d] = left < tile[d] ? left : tile[d];
        }
        if (qrn_gpu_element_count(f, e) > INT32_MAX)
            return reject(in, "has a memory object that is too large");
    }
    return QRN_OK;
}

static qrn_status add_form(qrn_gpu_instance *in, qrn_gpu_user_form *f) {
    if (in->made.n_forms == in->cap_forms)
        return reject(in, "has too many memory objects");
    in->made.forms[in->made.n_forms++] = f;
    return QRN_OK;
}

static qrn_status new_form(qrn_gpu_instance *in, const QnnGpu_MemoryObject_t *o,
                           const qrn_shape *shape, qrn_dtype type, qrn_gpu_user_form **out) {
    layout l;
    bool tiled;
    uint32_t tile[QRN_GPU_FORM_DIMS];
    size_t count;
    qrn_gpu_user_form *f = *out = qrn_arena_alloc(in->arena, sizeof *f);
    if (!f)
        return qrn_gpu_package_no_memory(in);
    *f = (qrn_gpu_user_form){.type = type, .lanes = 1, .dims = {1, 1, 1, 1, 1}, .copy_of = -1};
    if (!find_kind(o->type, &f->kind, &tiled))
        return reject(in, "has a memory object of an unknown type");
    if (!find_layout(o->layout, &l))
        return reject(in, "has a memory object of an unknown layout");
    if (!qrn_shape_count(shape, &count) || count > INT32_MAX || count == 0)
        return reject(in, "has a memory object that is empty or too large");
    bool image = f->kind != QRN_GPU_OBJECT_BUFFER && f->kind != QRN_GPU_OBJECT_HOST;
    if (image && !qrn_gpu_is_texel(type))
        return reject(in, "has an image of a data type that images cannot have");
    if (tiled != (o->offsets != NULL))
        return reject(in, "has offsets for an object that is not aggregated, or none for one");
    f->order = l.order;
    f->lanes = image || l.by_four ? 4 : 1;
    for (uint32_t d = 0; d < shape->rank; d++)
        f->dims[form_dim(shape->rank, d, l.deep)] *= shape->dims[d];
    QRN_TRY(read_tiles(in, o, shape, l.deep, f->dims, tile));
    QRN_TRY(make_elements(in, tile, f));
    return add_form(in, f);
}

static bool is_plain(const qrn_gpu_user_form *f, const qrn_tensor *t) {
    return f->kind == QRN_GPU_OBJECT_BUFFER && f->order == QRN_GPU_NDHWC && f->lanes == 1 &&
           f->type == t->dtype;
}

// --- tensors

static const QnnGpu_MemoryObject_t plain_object = {.type = QNN_GPU_MEM_OBJ_TYPE_BUFFER,
                                                   .layout = QNN_GPU_MEM_LAYOUT_HWC};

// The op that makes a tensor, and which of its results it is; NULL: no op of a package.
static const qrn_gpu_instance *maker_of(const qrn_gpu_instance *earlier, const qrn_tensor *t,
                                        uint32_t *out) {
    for (; earlier; earlier = earlier->next)
        for (*out = 0; *out < earlier->node->n_out; ++*out)
            if (earlier->node->out[*out] && earlier->node->out[*out]->id == t->id)
                return earlier;
    return NULL;
}

const QnnGpu_MemoryObject_t *qrn_gpu_claim_of(const qrn_gpu_instance *earlier,
                                              const qrn_tensor *t) {
    uint32_t out;
    const qrn_gpu_instance *maker = maker_of(earlier, t, &out);
    return maker && maker->claims ? maker->claims[out] : NULL;
}

static qrn_gpu_user_form *form_of(const qrn_gpu_instance *earlier, const qrn_tensor *t) {
    uint32_t out;
    const qrn_gpu_instance *maker = maker_of(earlier, t, &out);
    for (uint32_t i = 0; maker && i < maker->made.n_results; i++)
        if (maker->made.results[i].out == out)
            return maker->made.results[i].form;
    return NULL;
}

static void add_tensor(qrn_gpu_instance *in, const qrn_tensor *t, qrn_gpu_ref ref) {
    for (uint32_t i = 0; t && i < in->n_bound; i++)
        if (in->bound[i].tensor->id == t->id)
            return;
    if (t)
        in->bound[in->n_bound++] = (qrn_gpu_bound){.name = t->name, .tensor = t, .ref = ref};
}

qrn_status qrn_gpu_bind_tensors(qrn_gpu_instance *in, const qrn_gpu_instance *earlier) {
    const qrn_node *n = in->node;
    uint32_t n_params = 0, room = 0;
    while (qrn_gpu_param_tensor(in, n_params))
        n_params++;
    for (uint32_t i = 0; i < in->n_nodes; i++)
        room += in->nodes[i]->n_in + in->nodes[i]->n_out;
    in->cap_bound = room + n_params;
    in->bound = qrn_arena_alloc(in->arena, (in->cap_bound + 1u) * sizeof *in->bound);
    if (!in->bound)
        return qrn_gpu_package_no_memory(in);
    for (uint32_t i = 0; i < n->n_in; i++) {
        qrn_gpu_ref ref = {.kind = QRN_GPU_USER_IN, .index = i};
        if (n->in[i] && (ref.form = form_of(earlier, n->in[i])))
            ref.kind = QRN_GPU_USER_FORM;
        add_tensor(in, n->in[i], ref);
    }
    for (uint32_t i = 0; i < n_params; i++)
        add_tensor(in, qrn_gpu_param_tensor(in, i),
                   (qrn_gpu_ref){.kind = QRN_GPU_USER_IN, .index = n->n_in + i});
    for (uint32_t i = 0; i < n->n_out; i++)
        add_tensor(in, n->out[i], (qrn_gpu_ref){.kind = QRN_GPU_USER_OUT, .index = i});
    return QRN_OK;
}

qrn_gpu_bound *qrn_gpu_find_tensor(qrn_gpu_instance *in, const qrn_tensor *t) {
    qrn_gpu_user_form *f;
    for (uint32_t i = 0; i < in->n_bound; i++)
        if (in->bound[i].tensor->id == t->id)
            return &in->bound[i];
    // Between the nodes of a super node: memory of its own.
    if (in->n_bound == in->cap_bound ||
        new_form(in, &plain_object, &t->shape, t->dtype, &f) != QRN_OK)
        return NULL;
    add_tensor(in, t, (qrn_gpu_ref){.kind = QRN_GPU_USER_FORM, .form = f});
    return &in->bound[in->n_bound - 1];
}

qrn_status qrn_gpu_write_tensor(qrn_gpu_instance *in, qrn_gpu_bound *b) {
    b->written = true;
    if (b->ref.kind == QRN_GPU_USER_FORM) {
        for (uint32_t i = 0; i < in->made.n_forms; i++)
            if (in->made.forms[i] == b->ref.form)
                return QRN_OK;
        return reject(in, "writes to an input that arrives in a form of another op, which is not "
                          "supported");
    }
    if (b->ref.kind != QRN_GPU_USER_IN)
        return QRN_OK;
    qrn_gpu_user_form *f;
    QRN_TRY(new_form(in, &plain_object, &b->tensor->shape, b->tensor->dtype, &f));
    f->copy_of = (int32_t)b->ref.index;
    b->ref = (qrn_gpu_ref){.kind = QRN_GPU_USER_FORM, .form = f};
    return QRN_OK;
}

// --- what the package asks for

// ALIAS: the tensor or object of that name, of this op.
static qrn_status find_alias(qrn_gpu_instance *in, const QnnGpu_MemoryObject_t *o,
                             qrn_gpu_ref *out) {
    const char *name = o->aliasSourceName;
    qrn_gpu_bound *found = NULL;
    for (uint32_t i = 0; name && i < in->n_objects && !found; i++)
        if (in->objects[i].name && strcmp(in->objects[i].name, name) == 0)
            found = &in->objects[i];
    for (uint32_t i = 0; name && i < in->n_bound && !found; i++)
        if (in->bound[i].name && strcmp(in->bound[i].name, name) == 0)
            found = &in->bound[i];
    if (!found)
        return reject(in, "has an alias of a memory object that comes later or does not exist");
    if (found->tensor && found->ref.kind == QRN_GPU_USER_IN)
        QRN_TRY(qrn_gpu_write_tensor(in, found));
    *out = found->ref;
    return QRN_OK;
}

static qrn_status read_object(qrn_gpu_instance *in, const QnnGpu_MemoryObject_t *o) {
    qrn_gpu_bound *to = &in->objects[in->n_objects];
    qrn_dtype type = qrn_dtype_from_code((uint32_t)o->dataType);
    qrn_shape shape = {.rank = o->numDimensions};
    to->name = o->name;
    if (o->type == QNN_GPU_MEM_OBJ_TYPE_ALIAS) {
        QRN_TRY(find_alias(in, o, &to->ref));
    } else {
        if (type == QRN_DTYPE_COUNT || !shape.rank || shape.rank > QRN_MAX_RANK || !o->dimensions)
            return reject(in, "has a memory object without a type or shape");
        memcpy(shape.dims, o->dimensions, shape.rank * sizeof shape.dims[0]);
        to->ref = (qrn_gpu_ref){.kind = QRN_GPU_USER_FORM, .object = o};
        QRN_TRY(new_form(in, o, &shape, type, &to->ref.form));
    }
    in->n_objects++;
    return QRN_OK;
}

static bool has_shape(const QnnGpu_MemoryObject_t *o, const qrn_shape *s) {
    return !o->dimensions || (o->numDimensions == s->rank &&
                              memcmp(o->dimensions, s->dims, s->rank * sizeof s->dims[0]) == 0);
}

static bool may_store(qrn_dtype type, const qrn_tensor *t) {
    return type == t->dtype || (type != QRN_DTYPE_COUNT && qrn_dtype_is_float(type) &&
                                qrn_dtype_is_float(t->dtype) && type != QRN_DTYPE_F64);
}

static qrn_status read_claim(qrn_gpu_instance *in, const QnnGpu_OutputClaim_t *c) {
    const QnnGpu_MemoryObject_t *o = c->memoryObject;
    const qrn_node *n = c->opConfigIndex < in->n_nodes ? in->nodes[c->opConfigIndex] : NULL;
    if (!n || c->outputIndex >= n->n_out || !o)
        return reject(in, "claims an output that it does not have");
    const qrn_tensor *t = n->out[c->outputIndex];
    if (!t)
        return QRN_OK;
    qrn_gpu_bound *b = qrn_gpu_find_tensor(in, t);
    if (!b)
        return qrn_gpu_package_no_memory(in);
    uint32_t out = b->ref.kind == QRN_GPU_USER_OUT ? b->ref.index : UINT32_MAX;
    if (o->type == QNN_GPU_MEM_OBJ_TYPE_ALIAS) {
        QRN_TRY(find_alias(in, o, &b->ref));
        if (b->ref.kind != QRN_GPU_USER_FORM)
            return reject(in, "claims an output as an alias of another output");
        if (out != UINT32_MAX)
            in->claims[out] = b->ref.object;
        return QRN_OK;
    }
    qrn_dtype type = qrn_dtype_from_code((uint32_t)o->dataType);
    if (!may_store(type, t))
        return reject(in, "claims an output in another data type than it was declared with");
    if (!has_shape(o, &t->shape))
        return reject(in, "claims an output in another shape than it was declared with");
    uint32_t before = in->made.n_forms;
    qrn_gpu_user_form *f;
    QRN_TRY(new_form(in, o, &t->shape, type, &f));
    if (is_plain(f, t)) {
        in->made.n_forms = before;
        return QRN_OK;
    }
    b->ref = (qrn_gpu_ref){.kind = QRN_GPU_USER_FORM, .form = f, .object = o};
    if (out != UINT32_MAX)
        in->claims[out] = o;
    return QRN_OK;
}

qrn_status qrn_gpu_read_objects(qrn_gpu_instance *in) {
    QnnGpu_MemoryObject_t **list = in->impl->memoryObjects;
    uint32_t n = 0, n_claims = 0;
    while (list && list[n])
        if (++n > MOST_OBJECTS)
            return reject(in, "has too many memory objects");
    while (in->impl->outputClaims && in->impl->outputClaims[n_claims])
        if (++n_claims > MOST_OBJECTS)
            return reject(in, "claims too many outputs");
    in->cap_forms = n + n_claims + in->cap_bound;
    in->made.forms = qrn_arena_alloc(in->arena, (in->cap_forms + 1u) * sizeof *in->made.forms);
    in->objects = qrn_arena_alloc(in->arena, (n + 1u) * sizeof *in->objects);
    in->claims = qrn_arena_alloc(in->arena, (in->node->n_out + 1u) * sizeof *in->claims);
    if (!in->made.forms || !in->objects || !in->claims)
        return qrn_gpu_package_no_memory(in);
    for (uint32_t i = 0; i < n; i++)
        QRN_TRY(read_object(in, list[i]));
    for (uint32_t i = 0; i < n_claims; i++)
        QRN_TRY(read_claim(in, in->impl->outputClaims[i]));
    return QRN_OK;
}

static bool fits(const qrn_gpu_user_form *f, const qrn_tensor *t) {
    size_t have = 1, want;
    for (uint32_t d = 0; d < QRN_GPU_FORM_DIMS; d++)
        have *= f->dims[d];
    uint32_t last = t->shape.rank ? t->shape.dims[t->shape.rank - 1] : 1;
    return qrn_shape_count(&t->shape, &want) && have == want && f->dims[QRN_GPU_C] == last &&
           may_store(f->type, t);
}

// Does a kernel write to it, by this name or by that of an object that shares its memory?
static bool is_written(const qrn_gpu_instance *in, const qrn_gpu_bound *b) {
    bool found = b->written;
    for (uint32_t i = 0; b->ref.form && i < in->n_bound; i++)
        found |= in->bound[i].written && in->bound[i].ref.form == b->ref.form;
    for (uint32_t i = 0; b->ref.form && i < in->n_objects; i++)
        found |= in->objects[i].written && in->objects[i].ref.form == b->ref.form;
    return found;
}

qrn_status qrn_gpu_read_results(qrn_gpu_instance *in) {
    const qrn_node *n = in->node;
    qrn_gpu_user_result *r = qrn_arena_alloc(in->arena, (n->n_out + 1u) * sizeof *r);
    if (!r)
        return qrn_gpu_package_no_memory(in);
    for (uint32_t i = 0; i < n->n_out; i++) {
        const qrn_gpu_bound *b = n->out[i] ? qrn_gpu_find_tensor(in, n->out[i]) : NULL;
        if (!b)
            continue;
        if (!is_written(in, b))
            return reject(in, "has an output that none of its kernels writes");
        if (b->ref.kind != QRN_GPU_USER_FORM)
            continue;
        if (!fits(b->ref.form, n->out[i]))
            return reject(in, "claims an output in a memory object of another shape or type");
        r[in->made.n_results++] = (qrn_gpu_user_result){i, b->ref.form};
    }
    in->made.results = r;
    return QRN_OK;
}
