# What is used of nghttp2 (https://nghttp2.org/documentation/apiref.html).
#
# What a callback raises passes through nghttp2: the callback returns -902, which is
# NGHTTP2_ERR_CALLBACK_FAILURE, and nghttp2 calls no other and returns the same.

from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

cdef extern from "nghttp2/nghttp2.h":
    ctypedef struct nghttp2_session
    ctypedef struct nghttp2_session_callbacks
    ctypedef struct nghttp2_option
    ctypedef struct nghttp2_frame_hd:
        size_t length
        int32_t stream_id
        uint8_t type
        uint8_t flags
    ctypedef struct nghttp2_headers:
        int cat
    ctypedef union nghttp2_frame:
        nghttp2_frame_hd hd
        nghttp2_headers headers
    ctypedef struct nghttp2_nv:
        uint8_t* name
        uint8_t* value
        size_t namelen
        size_t valuelen
        uint8_t flags
    ctypedef struct nghttp2_settings_entry:
        int32_t settings_id
        uint32_t value
    ctypedef union nghttp2_data_source:
        void* ptr
    ctypedef ssize_t (*nghttp2_data_source_read_callback)(
        nghttp2_session*, int32_t, uint8_t*, size_t, uint32_t*, nghttp2_data_source*, void*
    ) except? -902
    ctypedef struct nghttp2_data_provider:
        nghttp2_data_source source
        nghttp2_data_source_read_callback read_callback

    int nghttp2_session_callbacks_new(nghttp2_session_callbacks**)
    void nghttp2_session_callbacks_set_on_begin_headers_callback(
        nghttp2_session_callbacks*,
        int (*)(nghttp2_session*, const nghttp2_frame*, void*) except? -902
    )
    void nghttp2_session_callbacks_set_on_header_callback(
        nghttp2_session_callbacks*,
        int (*)(
            nghttp2_session*, const nghttp2_frame*, const uint8_t*, size_t, const uint8_t*, size_t,
            uint8_t, void*
        ) except? -902
    )
    void nghttp2_session_callbacks_set_on_data_chunk_recv_callback(
        nghttp2_session_callbacks*,
        int (*)(nghttp2_session*, uint8_t, int32_t, const uint8_t*, size_t, void*) except? -902
    )
    void nghttp2_session_callbacks_set_on_frame_recv_callback(
        nghttp2_session_callbacks*,
        int (*)(nghttp2_session*, const nghttp2_frame*, void*) except? -902
    )
    void nghttp2_session_callbacks_set_on_frame_send_callback(
        nghttp2_session_callbacks*,
        int (*)(nghttp2_session*, const nghttp2_frame*, void*) except? -902
    )
    void nghttp2_session_callbacks_set_on_stream_close_callback(
        nghttp2_session_callbacks*,
        int (*)(nghttp2_session*, int32_t, uint32_t, void*) except? -902
    )
    int nghttp2_option_new(nghttp2_option**)
    void nghttp2_option_set_no_auto_window_update(nghttp2_option*, int)
    void nghttp2_option_set_no_closed_streams(nghttp2_option*, int)
    void nghttp2_option_set_no_rfc9113_leading_and_trailing_ws_validation(nghttp2_option*, int)
    void nghttp2_option_set_stream_reset_rate_limit(nghttp2_option*, uint64_t, uint64_t)
    void nghttp2_option_set_max_continuations(nghttp2_option*, size_t)
    int nghttp2_session_server_new2(
        nghttp2_session**, const nghttp2_session_callbacks*, void*, const nghttp2_option*
    )
    void nghttp2_session_del(nghttp2_session*)
    ssize_t nghttp2_session_mem_recv(nghttp2_session*, const uint8_t*, size_t) except? -902
    ssize_t nghttp2_session_mem_send(nghttp2_session*, const uint8_t**) except? -902
    int nghttp2_session_want_read(nghttp2_session*)
    int nghttp2_session_want_write(nghttp2_session*)
    int nghttp2_session_resume_data(nghttp2_session*, int32_t)
    int nghttp2_session_consume_connection(nghttp2_session*, size_t)
    int nghttp2_session_consume_stream(nghttp2_session*, int32_t, size_t)
    int nghttp2_session_set_local_window_size(nghttp2_session*, uint8_t, int32_t, int32_t)
    int32_t nghttp2_session_get_remote_window_size(nghttp2_session*)
    int32_t nghttp2_session_get_stream_remote_window_size(nghttp2_session*, int32_t)
    int32_t nghttp2_session_get_last_proc_stream_id(nghttp2_session*)
    int nghttp2_session_set_stream_user_data(nghttp2_session*, int32_t, void*)
    void* nghttp2_session_get_stream_user_data(nghttp2_session*, int32_t)
    int nghttp2_submit_settings(
        nghttp2_session*, uint8_t, const nghttp2_settings_entry*, size_t
    )
    int nghttp2_submit_response(
        nghttp2_session*, int32_t, const nghttp2_nv*, size_t, const nghttp2_data_provider*
    )
    int nghttp2_submit_trailer(nghttp2_session*, int32_t, const nghttp2_nv*, size_t)
    int nghttp2_submit_rst_stream(nghttp2_session*, uint8_t, int32_t, uint32_t)
    int nghttp2_submit_ping(nghttp2_session*, uint8_t, const uint8_t*)
    int nghttp2_submit_shutdown_notice(nghttp2_session*)
    int nghttp2_submit_goaway(
        nghttp2_session*, uint8_t, int32_t, uint32_t, const uint8_t*, size_t
    )
    const char* nghttp2_strerror(int)

    enum:
        NGHTTP2_DATA
        NGHTTP2_HEADERS
        NGHTTP2_SETTINGS
        NGHTTP2_PING
        NGHTTP2_FLAG_END_STREAM
        NGHTTP2_FLAG_ACK
        NGHTTP2_HCAT_REQUEST
        NGHTTP2_DATA_FLAG_EOF
        NGHTTP2_DATA_FLAG_NO_END_STREAM
        NGHTTP2_ERR_DEFERRED
        NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE
        NGHTTP2_NV_FLAG_NO_INDEX
        NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS
        NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE
        NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE
        NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES
